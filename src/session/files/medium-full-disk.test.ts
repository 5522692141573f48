import { join } from 'node:path'
import { expect, test } from 'vitest'
import { projectRoot, World } from '../../../test/support/world.ts'

interface Report {
  safe: number[]
  there: number[]
  codes: Record<string, number>
  again: boolean
  ok: boolean
}

const program = join(projectRoot, 'test/fixtures/full-disk.mjs')

test.each(['append', 'slot', 'large'])(
  'on a full disk, %s is refused, nothing acknowledged is lost, and writing goes on once there is room',
  async (what) => {
    await using world = new World()
    const disk = join(world.tmp, 'disk')
    const script = `mkdir "$0" && mount -t tmpfs -o size=2m,mode=0700 tmpfs "$0" && exec "$1" "$2" "$0/home" "$0" "$3"`
    const { stdout, stderr } = await world.unshare(['--mount'], 'sh', [
      '-c',
      script,
      disk,
      process.execPath,
      program,
      what,
    ])
    expect(stderr).toBe('')
    const { safe, there, codes, again, ok } = JSON.parse(stdout) as Report
    expect(there).toEqual(safe)
    expect(safe.length).toBeGreaterThan(4)
    expect(Object.keys(codes)).toEqual(['DISK_FULL'])
    expect({ again, ok }).toEqual({ again: true, ok: true })
  },
)

test('a close that fails without inodes can be repeated, and the session is never listed as closed before', async () => {
  await using world = new World()
  const disk = join(world.tmp, 'disk')
  const script = `mkdir "$0" && mount -t tmpfs -o nr_inodes=200,mode=0700 tmpfs "$0" && exec "$1" "$2" "$0/home" "$0"`
  const args = ['-c', script, disk, process.execPath, join(projectRoot, 'test/fixtures/no-inodes.mjs')]
  const { stdout, stderr } = await world.unshare(['--mount'], 'sh', args)
  expect(stderr).toBe('')
  expect(JSON.parse(stdout)).toEqual({
    first: ['DISK_FULL', 'active'],
    // The close could not be recorded, but the lock is given back.
    second: ['DISK_FULL', 'crashed'],
    turns: 1,
    after: 'closed',
  })
})
