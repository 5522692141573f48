import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { stintBin, until, World } from '../../../test/support/world.ts'
import { publishFile, replaceFile } from './atomic-file.ts'
import { type Disk, nodeDisk } from './disk.ts'
import { readSmallFile } from './regular-file.ts'

const module = JSON.stringify(join(stintBin, '../../base/fs/atomic-file.js'))

test('a replaced file is complete, has mode 0600, and leaves no temp file', async () => {
  await using world = new World()
  const path = join(world.tmp, 'file')
  replaceFile(path, 'one')
  replaceFile(path, new TextEncoder().encode('two'))
  expect(readFileSync(path, 'utf8')).toBe('two')
  expect(statSync(path).mode & 0o777).toBe(0o600)
  expect(readdirSync(world.tmp)).toEqual(['file'])
})

test('a reader never sees half a file, and killing the writer leaves the old or the new one', async () => {
  await using world = new World()
  const path = join(world.tmp, 'file')
  const program = `
    const { replaceFile } = await import(${module})
    for (let n = 0; ; n++) replaceFile(${JSON.stringify(path)}, String(n % 10).repeat(100_000))`
  const writer = world.start(process.execPath, ['--input-type=module', '-e', program])
  let seen = 0
  while (seen < 300) {
    const text = readSmallFile(path)
    if (text === undefined) {
      await new Promise(setImmediate)
      continue
    }
    seen += 1
    expect(text).toBe(text.charAt(0).repeat(100_000))
  }
  writer.child.kill('SIGKILL')
  await writer.finished
  const last = readFileSync(path, 'utf8')
  expect(last).toBe(last.charAt(0).repeat(100_000))
})

test('of many concurrent publishers exactly one wins, and its file is complete', async () => {
  await using world = new World()
  const program = `
    const { publishFile } = await import(${module})
    const { existsSync } = await import('node:fs')
    console.log('ready')
    while (!existsSync(process.argv[1] + '/go'));
    process.stdout.write(String(publishFile(process.argv[1] + '/won', process.argv[2].repeat(1000))))`
  const runs = ['a', 'b', 'c', 'd'].map((id) =>
    world.start(process.execPath, ['--input-type=module', '-e', program, world.tmp, id]),
  )
  for (const { output } of runs) await until('it is ready', () => output().stdout === 'ready\n')
  writeFileSync(join(world.tmp, 'go'), '')
  const results = await Promise.all(runs.map(({ finished }) => finished))
  const winners = ['a', 'b', 'c', 'd'].filter((_, i) => results[i]?.stdout === 'ready\ntrue')
  expect(winners).toHaveLength(1)
  expect(readFileSync(join(world.tmp, 'won'), 'utf8')).toBe(winners[0]?.repeat(1000))
  expect(readdirSync(world.tmp).sort()).toEqual(['go', 'won'])
})

test('a failed clean-up hides neither the original error nor a published file', async () => {
  await using world = new World()
  const failing = (code: string) => (): never => {
    throw Object.assign(new Error(code), { code })
  }
  const stuck: Disk = { ...nodeDisk, unlink: failing('EIO') }
  const full: Disk = { ...stuck, write: failing('ENOSPC') }
  expect(() => replaceFile(join(world.tmp, 'file'), 'x', full)).toThrow('ENOSPC')
  expect(publishFile(join(world.tmp, 'file'), 'x', stuck)).toBe(true)
  expect(publishFile(join(world.tmp, 'file'), 'y', stuck)).toBe(false)
  expect(readFileSync(join(world.tmp, 'file'), 'utf8')).toBe('x')
})

test('a failed write leaves the old file and no temp file', async () => {
  await using world = new World()
  const path = join(world.tmp, 'directory')
  mkdirSync(path)
  expect(() => replaceFile(path, 'x')).toThrow(/EISDIR|ENOTEMPTY|EEXIST/)
  expect(readdirSync(world.tmp)).toEqual(['directory'])
  expect(publishFile(path, 'x')).toBe(false)
  expect(readdirSync(world.tmp)).toEqual(['directory'])
})
