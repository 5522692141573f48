import { mkdirSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { World } from '../../../test/support/world.ts'
import {
  exists,
  hasEntries,
  ifExists,
  isRealDirectory,
  listIfReadable,
  lstatIfExists,
  statIfExists,
} from './exists.ts'

test('a dangling link exists, a link is not a real directory, and nothing exists below a file', async () => {
  await using world = new World()
  const at = (name: string): string => join(world.tmp, name)
  mkdirSync(at('directory'))
  writeFileSync(at('file'), '')
  symlinkSync(at('directory'), at('link'))
  symlinkSync(at('nowhere'), at('dangling'))
  const names = ['directory', 'file', 'link', 'dangling', 'nowhere', 'file/below', 'nowhere/below']
  expect(names.filter((name) => exists(at(name)))).toEqual(['directory', 'file', 'link', 'dangling'])
  expect(names.filter((name) => isRealDirectory(at(name)))).toEqual(['directory'])
})

test('a missing path gives undefined or an empty list, and any other error is thrown', async () => {
  await using world = new World()
  const at = (name: string): string => join(world.tmp, name)
  writeFileSync(at('file'), '')
  symlinkSync('file', at('link'))
  expect(ifExists(() => readdirSync(at('nowhere')))).toBeUndefined()
  expect(() => ifExists(() => readdirSync(at('file')))).toThrow('ENOTDIR')
  expect(lstatIfExists(at('link'))?.isSymbolicLink()).toBe(true)
  expect(statIfExists(at('link'))?.isFile()).toBe(true)
  for (const name of ['nowhere', 'file/below']) {
    expect(lstatIfExists(at(name))).toBeUndefined()
    expect(statIfExists(at(name))).toBeUndefined()
    expect(listIfReadable(at(name))).toEqual([])
  }
  expect(listIfReadable(world.tmp)).toEqual(['file', 'link'])
  expect([world.tmp, at('nowhere'), at('file')].map(hasEntries)).toEqual([true, false, true])
})
