import { readdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { World } from '../../test/support/world.ts'
import { registerConformance } from '../testing/register-conformance.ts'
import { fileRegister } from './file-register.ts'
import { memoryRegister } from './memory-register.ts'
import { type Register, runSync } from './register.ts'

let world: World
let opened = 0
beforeAll(() => {
  world = new World()
})
afterAll(() => world[Symbol.asyncDispose]())

const directory = (): string => join(world.tmp, `locks-${(opened += 1)}`)

describe.each<[string, () => Register]>([
  ['files', () => fileRegister(directory()) as Register],
  ['files that keep one epoch', () => fileRegister(directory(), 1) as Register],
  ['memory', () => memoryRegister() as Register],
])('a register in %s', (_, open) => {
  test.each(registerConformance(open))('$title', async ({ run }) => {
    await expect(run()).resolves.toBeUndefined()
  })
})

test('only the newest epochs are kept, and files of long texts go with them', () => {
  const path = directory()
  const register = fileRegister(path)
  for (let epoch = 0; epoch < 60; epoch++) {
    runSync(register, register.swap('k', epoch, epoch % 2 === 0 ? 'short' : 'long'.repeat(2000)))
  }
  const names = readdirSync(join(path, 'k'))
  expect(names.filter((name) => /^\d+$/.test(name))).toHaveLength(4)
  expect(names.filter((name) => name.startsWith('long-'))).toHaveLength(2)
})

test('the file of a long text whose writer died before linking it is removed; a living writer keeps its own', () => {
  const path = directory()
  const register = fileRegister(path)
  runSync(register, register.swap('k', 0, 'text'))
  writeFileSync(join(path, 'k', 'long-2147483000-1-X'), '')
  writeFileSync(join(path, 'k', `long-${process.pid}-${Number.NaN}-X`), '')
  runSync(register, register.swap('k', 1, 'text'))
  expect(readdirSync(join(path, 'k')).filter((name) => name.startsWith('long-2147483000'))).toEqual([])
})

test('what is no link, or leads nowhere, is a text that makes no sense, not an error', () => {
  const path = directory()
  const register = fileRegister(path)
  runSync(register, register.swap('k', 0, 'text'))
  writeFileSync(join(path, 'k', '2'), '')
  expect(runSync(register, register.read('k'))).toEqual({ epoch: 2, text: '' })
  symlinkSync('long-1-1-gone', join(path, 'k', '3'))
  expect(runSync(register, register.read('k'))).toEqual({ epoch: 3, text: '' })
})
