import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { expect, test } from 'vitest'
import { projectRoot, World } from '../test/support/world.ts'

const swapIn = pathToFileURL(join(projectRoot, 'scripts/swap-in.mjs')).href

const builder = `
import { mkdirSync, writeFileSync } from 'node:fs'
import { swapIn } from '${swapIn}'
for (let n = 0; n < 100; n++) {
  const next = 'dist.next-' + process.pid
  mkdirSync(next)
  for (const name of ['a', 'b']) writeFileSync(next + '/' + name, process.pid + ' ' + n)
  swapIn(next, 'dist')
}`

test('if several builds end at the same moment, one complete build remains, and nothing else', async () => {
  await using world = new World()
  const place = join(world.tmp, 'project')
  mkdirSync(place)
  const args = ['--input-type=module', '-e', builder]
  const builds = Array.from({ length: 4 }, () => world.start(process.execPath, args, { cwd: place }))
  const ended = await Promise.all(builds.map(({ finished }) => finished))
  expect(ended.map(({ code, stderr }) => ({ code, stderr }))).toEqual(
    Array.from({ length: 4 }, () => ({ code: 0, stderr: '' })),
  )
  expect(readdirSync(place)).toEqual(['dist'])
  const [a, b] = ['a', 'b'].map((name) => readFileSync(join(place, 'dist', name), 'utf8'))
  expect(a).toBe(b)
  expect(a).toMatch(/ 99$/)
})

test('the next build removes the files of a killed build, and none of a running one', async () => {
  await using world = new World()
  const dead = world.start('true', [])
  await dead.finished
  const living = world.start('sleep', ['300'])
  const names = ['dist', 'dist.mine', `dist.next-${living.pid}`]
  for (const name of [...names, `dist.next-${dead.pid}`, `dist.last-${dead.pid}`]) {
    mkdirSync(join(world.tmp, name))
    writeFileSync(join(world.tmp, name, 'file'), '')
  }
  const source = `import { removeAbandoned } from '${swapIn}'; removeAbandoned('.')`
  const { code } = await world.start(process.execPath, ['--input-type=module', '-e', source], {
    cwd: world.tmp,
  }).finished
  expect(code).toBe(0)
  expect(readdirSync(world.tmp).toSorted()).toEqual(names.toSorted())
})
