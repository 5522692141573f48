import { chmodSync, chownSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { isRoot, World } from '../../test/support/world.ts'
import { checkSecretRef, resolveSecret, type SecretRef } from './secret-ref.ts'

const value = 'correct horse battery'

const refused = (code: string) => expect.objectContaining({ code })

function inFile(world: World, content: string | Uint8Array = value): SecretRef {
  const name = join(world.tmp, 'token')
  writeFileSync(name, content, { mode: 0o600 })
  return { kind: 'file', name }
}

test.each([
  { kind: '', name: 'x' },
  { kind: 'env', name: '' },
  { kind: 'vault', name: 'x' },
  { kind: 'keyring', name: 'login' },
  { kind: 'env', name: 'A=B' },
  { kind: 'file', name: 'token' },
  { kind: 'env', name: 'A\nB' },
  { kind: 'env', name: '\u009bx' },
  { kind: 'ENV', name: 'A' },
  { kind: 'env', name: 'x'.repeat(5000) },
])('%j is not a valid reference, and the error does not quote it', ({ kind, name }) => {
  expect(() => checkSecretRef({ kind, name })).toThrow(refused('NAME_INVALID'))
  expect(() => checkSecretRef({ kind: `${value}${kind}`, name: value })).toThrow(
    expect.not.stringContaining(value),
  )
})

test.each([
  undefined,
  null,
  5,
  'env:A',
  {},
  { kind: 'env' },
  { kind: 'env', name: 5 },
  { kind: ['env'], name: 'A' },
])('a manifest with %j in place of a reference causes a coded error', (value) => {
  expect(() => checkSecretRef(value)).toThrow(refused('NAME_INVALID'))
})

test('a variable resolves to its value, and an unset or empty variable is missing', () => {
  const env = { SET: `${value}\n`, EMPTY: '' }
  expect(resolveSecret({ kind: 'env', name: 'SET' }, env)).toBe(`${value}\n`)
  for (const name of ['EMPTY', 'UNSET']) {
    expect(() => resolveSecret({ kind: 'env', name }, env)).toThrow(refused('SECRET_MISSING'))
    expect(() => resolveSecret({ kind: 'env', name }, env)).toThrow(`env:${name}`)
  }
})

test.each([
  [value, value],
  [`${value}\n`, value],
  [`${value}\r\n`, value],
  [`${value}\n\n`, `${value}\n`],
  [' é\n', ' é'],
])('a file with the content %j resolves to %j', async (content, expected) => {
  await using world = new World()
  expect(resolveSecret(inFile(world, content))).toBe(expected)
})

test('a file is missing if the path does not exist, runs through a file, is too long, or is empty', async () => {
  await using world = new World()
  const ref = inFile(world, '\n')
  const tooLong = join(world.tmp, 'x'.repeat(300))
  for (const name of [join(world.tmp, 'none'), join(ref.name, 'below'), tooLong, ref.name]) {
    expect(() => resolveSecret({ kind: 'file', name })).toThrow(refused('SECRET_MISSING'))
  }
})

test.each(['640', '604', '620', '602', '610', '666'])('a file with mode %s is refused', async (mode) => {
  await using world = new World()
  const ref = inFile(world)
  chmodSync(ref.name, mode)
  expect(() => resolveSecret(ref)).toThrow(refused('SECRET_UNSAFE'))
})

test('a link, a directory and a FIFO are refused', async () => {
  await using world = new World()
  const link = join(world.tmp, 'link')
  symlinkSync(inFile(world).name, link)
  const directory = join(world.tmp, 'directory')
  mkdirSync(directory, 0o700)
  const fifo = join(world.tmp, 'fifo')
  await world.start('mkfifo', ['-m', '600', fifo]).finished
  for (const name of [link, directory, fifo]) {
    expect(() => resolveSecret({ kind: 'file', name })).toThrow(refused('SECRET_UNSAFE'))
  }
})

test("another user's file is refused", async () => {
  await using world = new World()
  const ref = inFile(world)
  if (isRoot) chownSync(ref.name, 12_345, 12_345)
  else ref.name = '/etc/hostname'
  expect(() => resolveSecret(ref)).toThrow(refused('SECRET_UNSAFE'))
})

test('a file over 64 KiB or with invalid UTF-8 is refused, and the error quotes nothing of it', async () => {
  await using world = new World()
  const ref = inFile(world, Buffer.concat([Buffer.from(value), Buffer.from([0xff])]))
  expect(() => resolveSecret(ref)).toThrow(refused('SECRET_UNSUPPORTED'))
  expect(() => resolveSecret(ref)).toThrow(expect.not.stringContaining(value))
  writeFileSync(ref.name, 'x'.repeat((64 << 10) + 1))
  expect(() => resolveSecret(ref)).toThrow(refused('SECRET_UNSUPPORTED'))
  writeFileSync(ref.name, 'x'.repeat(64 << 10))
  expect(resolveSecret(ref)).toHaveLength(64 << 10)
})
