import { join } from 'node:path'
import { expect, test } from 'vitest'
import { FaultWorld } from '../../../test/support/failed-calls.ts'
import { readHomeFacts } from '../../../test/support/home-facts.ts'
import { stintBin, World } from '../../../test/support/world.ts'
import { filesystemStore } from '../../session/files/driver.ts'
import { readDataOption } from './append.ts'

test.each(['correct-horse', '{"key": correct-horse}', '[1, 2', '"correct-horse'])(
  'invalid JSON is refused without being quoted: %s',
  async (text) => {
    const error = await readDataOption(text).catch((thrown: unknown) => thrown)
    expect(error).toMatchObject({ code: 'ARG_ERROR' })
    expect((error as Error).message).toMatch(/^--data is not JSON( at position \d+)?$/)
    expect((error as Error).cause).toBeUndefined()
  },
)

test('an event that was recorded is reported as such, even if the session cannot be given back', async () => {
  await using world = new FaultWorld()
  const home = join(world.template, 'home')
  await (await filesystemStore({ home }).create({ id: 'a' })).close()
  const command = { title: 'append', args: ['sessions', 'append', 'a', '--type', 'second', '--json'] }
  const { calls } = await world.run(command, world.newPlace())
  // The first swap takes the lock, the last one gives it back.
  const release = calls.findLast(({ name, path }) => name === 'symlink' && path.includes('/lock/'))
  const place = world.newPlace()
  // Not the first of its errors: on a full disk, older records of the lock would make room.
  const { answer } = await world.run(command, place, { at: release?.number ?? 0, error: 1 })
  expect(answer).toMatchObject({ code: undefined, data: { session_id: 'a', taken_in: true } })
  expect(answer.warnings.join()).toContain('did not end cleanly')
  expect((await readHomeFacts(place)).sessions.a?.events).toEqual(['second null'])
})

test('an append with one free inode gives the session back: old records of its lock make room', async () => {
  await using world = new World()
  const script = `mkdir "$0" && mount -t tmpfs -o nr_inodes=200,mode=0700 tmpfs "$0" && export STINT_HOME="$0/home"
    "$1" "$2" sessions append a --create --type first --json >/dev/null
    mount -o remount,nr_inodes=$(( $(df --output=iused "$0" | tail -n 1) + 1 )) "$0"
    "$1" "$2" sessions append a --type second --json; code=$?
    mount -o remount,nr_inodes=200 "$0"
    "$1" "$2" sessions tail a -n all --json >&2; exit $code`
  const args = ['-c', script, join(world.tmp, 'disk'), process.execPath, stintBin]
  const { code, envelope, stderr } = await world.unshare(['--mount'], 'sh', args)
  expect(code, stderr).toBe(0)
  expect(envelope()).toMatchObject({ ok: true, data: { session_id: 'a', taken_in: true }, warnings: [] })
  expect(stderr.match(/"type":"\w+"/g)).toEqual(['"type":"first"', '"type":"second"'])
})
