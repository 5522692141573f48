import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  symlinkSync,
} from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import { World } from '../../test/support/world.ts'
import { joinScratch, createScratch } from './scratch.ts'
import { openRoot } from './root.ts'

const copyOwner = (from: string, to: string): void =>
  symlinkSync(readlinkSync(`${from}.owner`), `${to}.owner`)

test('processes that join one scratch have separate contexts, files and kept files', async () => {
  await using world = new World()
  const root = openRoot(world.env)
  using scratch = createScratch({ root })
  const parts = Array.from({ length: 20 }, () => joinScratch(scratch.path))
  const contexts = parts.map((part) => part?.context('the same name', { file: 'a.test.ts' }))
  const files = contexts.map((context) => context?.file('x') ?? '')
  expect(new Set(files).size).toBe(20)
  expect(new Set(files.map((file) => dirname(dirname(dirname(file)))))).toEqual(new Set([scratch.path]))
  const log = readFileSync(join(scratch.path, '.stint/contexts.log'), 'utf8')
  expect(log.match(/"name":"the same name","file":"a.test.ts"/g)).toHaveLength(20)
  const kept = contexts.map((context) => context?.keep() ?? '')
  expect(new Set(kept).size).toBe(20)
  expect(kept.every((path) => readdirSync(path).includes('x') && path.startsWith(root.out))).toBe(true)
})

test('cleaning one part leaves the others; removing the scratch removes all', async () => {
  await using world = new World()
  const scratch = createScratch({ root: openRoot(world.env) })
  const [one, two] = [joinScratch(scratch.path), joinScratch(scratch.path)]
  const [gone = '', stays = ''] = [one?.file('x'), two?.file('x')]
  expect(one?.clean().failures).toEqual([])
  expect([existsSync(dirname(gone)), existsSync(stays)]).toEqual([false, true])
  scratch.remove()
  expect(world.leftovers()).toEqual([])
})

test('an unused part makes no directory', async () => {
  await using world = new World()
  using scratch = createScratch({ root: openRoot(world.env) })
  joinScratch(scratch.path)?.context('unused').clean()
  expect(readdirSync(scratch.path)).toEqual([])
})

test('a scratch can be joined by a path that ends with slashes', async () => {
  await using world = new World()
  using scratch = createScratch({ root: openRoot(world.env) })
  const file = joinScratch(`${scratch.path}//`)?.file('x') ?? ''
  expect(dirname(dirname(file))).toBe(scratch.path)
})

test('only a scratch with a living owner can be joined', async () => {
  await using world = new World()
  const root = openRoot(world.env)
  const dead = await world.start(process.execPath, [
    '--input-type=module',
    '-e',
    `import { createScratch } from ${JSON.stringify(join(import.meta.dirname, '../../dist/index.js'))}
     console.log(createScratch().path)
     process.kill(process.pid, 'SIGKILL')`,
  ]).finished
  using scratch = createScratch({ root })
  const elsewhere = join(world.tmp, basename(scratch.path))
  const link = join(root.runs, 'req_01M7H1MCE4FPMEP5TKAXVQDCS0')
  symlinkSync(scratch.path, link)
  copyOwner(scratch.path, link)
  mkdirSync(elsewhere)
  copyOwner(scratch.path, elsewhere)
  const renamed = createScratch({ root })
  const otherName = join(root.runs, 'other-name')
  copyOwner(renamed.path, otherName)
  renameSync(renamed.path, otherName)
  const wrong = ['', '/', world.tmp, root.path, root.runs, dead.stdout.trim(), elsewhere, link, otherName]
  expect(existsSync(dead.stdout.trim())).toBe(true)
  expect(wrong.map((path) => joinScratch(path))).toEqual(wrong.map(() => undefined))
})
