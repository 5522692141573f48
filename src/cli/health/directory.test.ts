import { join } from 'node:path'
import { expect, test } from 'vitest'
import { World } from '../../../test/support/world.ts'
import { type DirectoryFacts, judgeDirectory, judgeFileSystem, judgeSpace, readSpace } from './directory.ts'

const directory = (mode: number, more: Partial<DirectoryFacts> = {}): DirectoryFacts => ({
  path: '/u/.stint',
  self: { mode },
  parentMode: 0o755,
  ...more,
})

test.each<[string, DirectoryFacts, string, string | null]>([
  ['private', directory(0o700), 'ok', null],
  ['missing', directory(0, { self: undefined }), 'ok', null],
  ['without a parent', directory(0, { self: undefined, parentMode: undefined }), 'fail', 'mkdir -p /u'],
  ['that cannot be made', directory(0, { self: undefined, obstacle: 'no' }), 'fail', 'STINT_HOME'],
  [
    'a link',
    directory(0o777, { self: { mode: 0o777, problem: 'is a symbolic link' } }),
    'fail',
    'STINT_HOME',
  ],
  ['writable by others', directory(0o770), 'fail', 'chmod 700 /u/.stint'],
  ['closed to its own user', directory(0o500), 'fail', 'chmod 700 /u/.stint'],
  ['readable by others', directory(0o755), 'warn', 'chmod 700 /u/.stint'],
  ['in a directory that any user can change', directory(0o700, { parentMode: 0o777 }), 'fail', 'chmod +t /u'],
  ['in a sticky directory', directory(0o700, { parentMode: 0o1777 }), 'ok', null],
])('home: %s', (_, facts, level, fix) => {
  const check = judgeDirectory('home', facts)
  expect(check.level).toBe(level)
  if (fix === null) expect(check.fix).toBeNull()
  else expect(check.fix).toContain(fix)
})

test('a fix can be pasted into a shell, whatever the path', () => {
  const { fix } = judgeDirectory('home', directory(0o770, { path: "/u/my home/it's" }))
  expect(fix).toBe(String.raw`chmod 700 '/u/my home/it'\''s'`)
})

test.each([
  ['ext4', 0xef53, 'ok'],
  ['NFS', 0x6969, 'fail'],
  ['SMB', 0xfe534d42, 'fail'],
  ['tmpfs', 0x01021994, 'warn'],
  ['overlay', 0x794c7630, 'warn'],
])('a home on %s', (_, type, level) => {
  const check = judgeFileSystem(type)
  expect(check.level).toBe(level)
  expect(check.fix === null).toBe(level === 'ok')
})

const mib = 2 ** 20
const gib = 2 ** 30

test.each([
  ['plenty', 100 * gib, 200 * gib, 'ok'],
  ['a small file system with room', 600 * mib, 700 * mib, 'ok'],
  ['little', 500 * mib, 100 * gib, 'warn'],
  ['a nearly full disk', 3 * gib, 100 * gib, 'warn'],
  ['a nearly full disk that is huge', 50 * gib, 10_000 * gib, 'ok'],
  ['nothing', 0, 100 * gib, 'fail'],
  ['no size at all', 0, 0, 'ok'],
])('space: %s', (_, free_bytes, total_bytes, level) => {
  const check = judgeSpace('temp disk', { path: '/x', free_bytes, total_bytes })
  expect(check.level).toBe(level)
  expect(check.fix === null).toBe(level === 'ok')
})

test('the space for a missing directory is that of the place where it would be made', async () => {
  await using world = new World()
  const { total_bytes, free_bytes, path } = readSpace(join(world.tmp, 'no/such/home'))
  expect(path).toBe(join(world.tmp, 'no/such/home'))
  expect(total_bytes).toBe(readSpace(world.tmp).total_bytes)
  expect(free_bytes).toBeGreaterThan(0)
})
