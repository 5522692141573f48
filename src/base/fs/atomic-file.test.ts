import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { stintBin, World } from '../../../test/support/world.ts'
import { linkInto, replaceFile } from './atomic-file.ts'
import { nodeDisk } from './disk.ts'
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

test('a failed clean-up does not hide the original error', async () => {
  await using world = new World()
  const failing = (code: string) => (): never => {
    throw Object.assign(new Error(code), { code })
  }
  const stuck = { ...nodeDisk, unlink: failing('EIO') }
  const full = { ...stuck, write: failing('ENOSPC') }
  expect(() => replaceFile(join(world.tmp, 'file'), 'x', full)).toThrow('ENOSPC')
})

test('a failed write leaves the old file and no temp file', async () => {
  await using world = new World()
  const path = join(world.tmp, 'directory')
  mkdirSync(path)
  expect(() => replaceFile(path, 'x')).toThrow(/EISDIR|ENOTEMPTY|EEXIST/)
  expect(readdirSync(world.tmp)).toEqual(['directory'])
})

test('a file that another process made meanwhile is not replaced by linkInto', async () => {
  await using world = new World()
  const path = join(world.tmp, 'new')
  const make = (staged: string): void => {
    writeFileSync(staged, 'mine')
    writeFileSync(path, 'theirs')
  }
  expect(() => linkInto(path, make)).toThrow('EEXIST')
  expect(readFileSync(path, 'utf8')).toBe('theirs')
  expect(readdirSync(world.tmp)).toEqual(['new'])
})
