import { join } from 'node:path'
import { expect, test } from 'vitest'
import { World } from '../../../test/support/world.ts'
import { judgeMount, judgeSpace, readSpace } from './directory.ts'

test.each([
  ['home', 'ext4', 'rw', 'ok'],
  ['home', 'nfs4', 'rw', 'fail'],
  ['home', 'cifs', 'rw', 'fail'],
  ['home', 'fuse.sshfs', 'rw', 'fail'],
  ['temp', 'nfs', 'rw', 'warn'],
  ['home', '9p', 'rw', 'warn'],
  ['home', 'tmpfs', 'rw', 'warn'],
  ['temp', 'tmpfs', 'rw', 'ok'],
  ['home', 'overlay', 'rw', 'warn'],
  ['temp', 'overlay', 'rw', 'ok'],
  ['temp', 'ext4', 'rw,noexec', 'warn'],
  ['home', 'ext4', 'rw,noexec', 'ok'],
  ['temp', 'ext4', 'ro', 'fail'],
] as const)('mount: %s on %s (%s): %s', (role, type, options, level) => {
  const check = judgeMount(role, { point: '/mnt', type, source: 'x', options: options.split(',') })
  expect(check.level).toBe(level)
  expect(check.fix === null).toBe(level === 'ok')
})

const mib = 2 ** 20
const gib = 2 ** 30
const space = (free: number, total: number, files = 0, ofFiles = 0) => ({
  path: '/x',
  free_bytes: free,
  total_bytes: total,
  free_files: files,
  total_files: ofFiles,
})

test.each([
  ['plenty', space(100 * gib, 200 * gib, 1e6, 2e6), 'ok'],
  ['a small file system with room', space(600 * mib, 700 * mib), 'ok'],
  ['little', space(500 * mib, 100 * gib), 'warn'],
  ['a nearly full disk', space(3 * gib, 100 * gib), 'warn'],
  ['a nearly full disk that is huge', space(50 * gib, 10_000 * gib), 'ok'],
  ['nothing', space(0, 100 * gib), 'fail'],
  ['few files', space(100 * gib, 200 * gib, 5000, 1e6), 'warn'],
  ['no files', space(100 * gib, 200 * gib, 3, 1e6), 'fail'],
  ['no size at all', space(0, 0), 'ok'],
  ['no limit on files', space(100 * gib, 200 * gib, 0, 0), 'ok'],
])('space: %s', (_, facts, level) => {
  const check = judgeSpace('temp disk', facts)
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
