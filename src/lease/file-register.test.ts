import { mkdirSync, readdirSync, readlinkSync, rmSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { World } from '../../test/support/world.ts'
import { readSmallFile } from '../base/fs/regular-file.ts'
import { registerConformance } from '../testing/register-conformance.ts'
import { isAttachmentName } from './attachments.ts'
import { fileRegister } from './file-register.ts'
import type { FileStep } from './file-register.ts'
import { runSync } from '../base/process/run-generator.ts'
import type { Register } from './register.ts'

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
])('a register in %s', (_, open) => {
  test.each(registerConformance(open))('$title', async ({ run }) => {
    await expect(run()).resolves.toBeUndefined()
  })
})

const attachmentsOf = (path: string): string[] => readdirSync(join(path, 'k')).filter(isAttachmentName)

const nothing = { epoch: 0, text: undefined }

const swapAll = (register: Register<FileStep>, from: number, texts: readonly string[]): void =>
  texts.forEach((text, i) => {
    const before = runSync(register, register.read('k'))
    expect(before.epoch).toBe(from + i)
    expect(runSync(register, register.swap('k', before, text))).toBe(from + i + 1)
  })

test('only the newest epochs are kept, and the attachments of deleted long texts are deleted, too', () => {
  const path = directory()
  swapAll(
    fileRegister(path),
    0,
    Array.from({ length: 64 }, (_, i) => (i % 2 === 0 ? `short ${i}` : `long ${i} `.repeat(2000))),
  )
  expect(readdirSync(join(path, 'k')).filter((name) => /^\d+$/.test(name))).toHaveLength(4)
  expect(attachmentsOf(path)).toHaveLength(2)
})

test('an unchanged rest is written once, and the links to it fit into an inode', () => {
  const path = directory()
  const register = fileRegister(path)
  const rest = `\n${'the same '.repeat(50)}`
  swapAll(
    register,
    0,
    Array.from({ length: 100 }, (_, i) => `${i}${rest}`),
  )
  expect(attachmentsOf(path)).toHaveLength(1)
  expect(readlinkSync(join(path, 'k', '100')).length).toBeLessThan(60)
  expect(runSync(register, register.read('k'))).toEqual({ epoch: 100, text: `99${rest}` })
  const another = fileRegister(path)
  expect(runSync(another, another.read('k'))).toEqual({ epoch: 100, text: `99${rest}` })
})

test('an attachment that was deleted while its writer uses it is written again', () => {
  const path = directory()
  const register = fileRegister(path)
  const rest = `\n${'the same '.repeat(50)}`
  swapAll(register, 0, [`1${rest}`, `2${rest}`, `3${rest}`])
  rmSync(path, { recursive: true })
  swapAll(register, 0, [`4${rest}`])
  expect(runSync(fileRegister(path), fileRegister(path).read('k'))).toEqual({ epoch: 1, text: `4${rest}` })
})

test('an attachment that no link names is deleted once its writer is dead or has a newer one', () => {
  const path = directory()
  const register = fileRegister(path)
  const rests = [`\n${'one '.repeat(50)}`, `\n${'two '.repeat(50)}`]
  swapAll(
    register,
    0,
    Array.from({ length: 10 }, (_, i) => `${i}${rests[0]}`),
  )
  const [first = ''] = attachmentsOf(path)
  const [here, pid, started] = first.split('-')
  const planted = {
    dead: `${here}-zik0xj-1-1-1`,
    living: `${here}-${pid}-${started}-zz-1`,
    elsewhere: 'ffff-1-1-1-1',
    forgotten: 'ffff-1-1-1-2',
    named: `${here}-zik0xj-1-1-2`,
  }
  for (const name of Object.values(planted)) writeFileSync(join(path, 'k', name), '\nrest')
  utimesSync(join(path, 'k', planted.forgotten), 0, 0)
  symlinkSync(`@${planted.named} head`, join(path, 'k', '11'))
  expect(runSync(register, register.read('k'))).toEqual({ epoch: 11, text: 'head\nrest' })
  swapAll(
    register,
    11,
    Array.from({ length: 3 }, (_, i) => `${i}${rests[1]}`),
  )
  expect(attachmentsOf(path)).toContain(planted.named)
  swapAll(
    register,
    14,
    Array.from({ length: 20 }, (_, i) => `${i} more${rests[1]}`),
  )
  const left = attachmentsOf(path)
  expect(left).toHaveLength(3)
  expect(left).toContain(planted.living)
  expect(left).toContain(planted.elsewhere)
  expect(left).not.toContain(first)
})

test('a known entry is confirmed without a listing, and a newer one is found', () => {
  const path = directory()
  const register = fileRegister(path)
  swapAll(register, 0, ['one', 'two'])
  const known = { epoch: 2, text: 'two' }
  expect(runSync(register, register.read('k', known))).toBe(known)
  swapAll(fileRegister(path), 2, ['three'])
  expect(runSync(register, register.read('k', known))).toEqual({ epoch: 3, text: 'three' })
  expect(runSync(register, register.read('k', { epoch: 3, text: 'other' }))).toEqual({
    epoch: 3,
    text: 'three',
  })
})

test('names that only look like an epoch are ignored, and a name that cannot be deleted fails no swap', () => {
  const path = directory()
  const register = fileRegister(path)
  swapAll(register, 0, ['one'])
  for (const name of [
    '007',
    '99999999999999999999',
    '9007199254740992',
    '-1',
    '1e3',
    '1.5',
    '2.5',
    '0.5',
    '1e-7',
  ])
    symlinkSync('other', join(path, 'k', name))
  mkdirSync(join(path, 'k', '2'))
  expect(runSync(register, register.read('k'))).toEqual({ epoch: 2, text: '' })
  swapAll(
    register,
    2,
    Array.from({ length: 20 }, (_, i) => `text ${i}`),
  )
  const epochs = readdirSync(join(path, 'k')).filter((name) => /^[1-9]\d?$/.test(name))
  expect(epochs.sort()).toEqual(['19', '2', '20', '21', '22'])
})

test('a planted epoch that has no successor is refused by name, and nothing is changed', () => {
  const path = directory()
  const register = fileRegister(path)
  swapAll(register, 0, ['one'])
  const last = 999_999_999_999_999
  symlinkSync('planted', join(path, 'k', String(last)))
  expect(runSync(register, register.read('k'))).toEqual({ epoch: last, text: 'planted' })
  expect(() => runSync(register, register.swap('k', { epoch: last, text: 'planted' }, 'two'))).toThrow(
    expect.objectContaining({
      code: 'HOME_UNSAFE',
      message: expect.stringContaining(join(path, 'k', String(last))) as string,
      hint: 'Remove it.',
    }),
  )
  expect(readdirSync(join(path, 'k')).sort()).toEqual(['1', String(last)])
  rmSync(join(path, 'k', String(last)))
  swapAll(register, 1, ['two'])
})

test('an attachment that cannot be read is an error, not an empty text', () => {
  const path = directory()
  const register = fileRegister(path)
  const unreadable: Register<FileStep> = {
    ...register,
    performSync: (step) => {
      if (step.call === 'readText') throw Object.assign(new Error('EMFILE'), { code: 'EMFILE' })
      return register.performSync?.(step)
    },
  }
  swapAll(register, 0, ['x'.repeat(5000)])
  const another = fileRegister(path)
  expect(() => runSync(unreadable, another.read('k'))).toThrow('EMFILE')
  expect(() => readSmallFile(`/${'x'.repeat(300)}`, 'throwOnError')).toThrow('ENAMETOOLONG')
  expect(readSmallFile(`/${'x'.repeat(300)}`)).toBeUndefined()
  expect(readSmallFile(join(path, 'none'), 'throwOnError')).toBeUndefined()
})

test('a file in the place of a link, or a missing attachment, reads as an empty text, not as an error', () => {
  const path = directory()
  const register = fileRegister(path)
  runSync(register, register.swap('k', nothing, 'text'))
  writeFileSync(join(path, 'k', '2'), '')
  expect(runSync(register, register.read('k'))).toEqual({ epoch: 2, text: '' })
  symlinkSync('@ffff-1-1-1-1 gone', join(path, 'k', '3'))
  expect(runSync(register, register.read('k'))).toEqual({ epoch: 3, text: '' })
  writeFileSync(join(path, 'secret'), 'secret')
  symlinkSync('@../secret gone', join(path, 'k', '4'))
  expect(runSync(register, register.read('k'))).toEqual({ epoch: 4, text: '' })
})

test('a key goes on after a sweep that was killed before it had deleted the attachments', () => {
  const path = directory()
  swapAll(fileRegister(path), 0, ['x'.repeat(5000)])
  rmSync(join(path, 'k', '1'))
  expect(attachmentsOf(path)).toHaveLength(1)
  const register = fileRegister(path)
  const start = { epoch: 100, text: undefined }
  expect(runSync(register, register.swap('k', start, 'free'))).toBeUndefined()
  expect(runSync(register, register.swap('k', start, 'free'))).toBe(101)
  expect(runSync(register, register.read('k'))).toEqual({ epoch: 101, text: 'free' })
})

test('a file of others in the directory of a new key is named, and a sweep leaves its key as it is', () => {
  const path = directory()
  const register = fileRegister(path)
  mkdirSync(join(path, 'k'), { recursive: true })
  writeFileSync(join(path, 'k', '.DS_Store'), '')
  expect(() => runSync(register, register.swap('k', { epoch: 100, text: undefined }, 'free'))).toThrow(
    expect.objectContaining({ code: 'HOME_UNSAFE', message: expect.stringContaining('.DS_Store') as string }),
  )
  symlinkSync('free', join(path, 'k', '7'))
  expect(runSync(register, register.remove?.('k', { epoch: 7, text: 'free' }) as never)).toBe(false)
  expect(runSync(register, register.read('k'))).toEqual({ epoch: 7, text: 'free' })
})

test('a swap of a long text has won although no descriptor is left to list or to write', () => {
  const path = directory()
  const files = fileRegister(path)
  swapAll(files, 0, ['one'])
  let isLinked = false
  const register: Register<FileStep> = {
    ...files,
    performSync(step) {
      if (isLinked && ['list', 'write'].includes(step.call))
        throw Object.assign(new Error('EMFILE'), { code: 'EMFILE' })
      isLinked ||= step.call === 'symlink'
      return files.performSync?.(step)
    },
  }
  const before = { epoch: 1, text: 'one' }
  expect(runSync(register, register.swap('k', before, 'x'.repeat(5000)))).toBe(2)
})
