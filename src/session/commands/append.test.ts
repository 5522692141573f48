import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { FaultWorld } from '../../../test/support/failed-calls.ts'
import { readHomeFacts } from '../../../test/support/home-facts.ts'
import { stintBin, World } from '../../../test/support/world.ts'
import { filesystemStore } from '../files/medium.ts'
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
  const release = calls.findLast(({ name, path }) => name === 'link' && path.includes('/lock/'))
  const place = world.newPlace()
  const { answer } = await world.run(command, place, { at: release?.number ?? 0, error: 0 })
  expect(answer).toMatchObject({ code: undefined, data: { session_id: 'a', seq: 1 } })
  expect(answer.warnings.join()).toContain('did not end cleanly')
  expect((await readHomeFacts(place)).sessions.a?.events).toEqual(['second null'])
})

test('an append with two free inodes gives the session back: old records of its lock make room', async () => {
  await using world = new World()
  // A hard link takes an inode of a tmpfs, too.
  const script = `mkdir "$0" && mount -t tmpfs -o nr_inodes=200,mode=0700 tmpfs "$0" && export STINT_HOME="$0/home"
    "$1" "$2" sessions append a --create --type first --json >/dev/null
    mount -o remount,nr_inodes=$(( $(df --output=iused "$0" | tail -n 1) + 2 )) "$0"
    "$1" "$2" sessions append a --type second --json; code=$?
    mount -o remount,nr_inodes=200 "$0"
    "$1" "$2" sessions tail a -n all --json >&2; exit $code`
  const args = ['-c', script, join(world.tmp, 'disk'), process.execPath, stintBin]
  const { code, envelope, stderr } = await world.unshare(['--mount'], 'sh', args)
  expect(code, stderr).toBe(0)
  expect(envelope()).toMatchObject({ ok: true, data: { session_id: 'a', seq: 2 }, warnings: [] })
  expect(stderr.match(/"type":"\w+"/g)).toEqual(['"type":"first"', '"type":"second"'])
})

test('at the size limit of a file, append, fork and a recorded run say so, and what was acknowledged is there', async () => {
  await using world = new World()
  const home = join(world.tmp, 'home')
  const store = filesystemStore({ home })
  await using session = await store.create({ id: 'a' })
  for (let n = 0; n < 40; n++) await session.append({ type: 'n', data: 'x'.repeat(10_000) })
  await session.close()
  const large = join(world.tmp, 'large.json')
  writeFileSync(large, JSON.stringify('y'.repeat(300_000)))
  // 256 blocks of 512 bytes; the journal has more.
  const limited = (...args: string[]) =>
    world.start('sh', ['-c', 'ulimit -f 256; exec "$0" "$@"', process.execPath, stintBin, ...args], {
      env: { STINT_HOME: home },
    }).finished
  for (const args of [
    ['sessions', 'append', 'a', '--type', 'more', '--json'],
    ['sessions', 'append', 'b', '--create', '--type', 'large', '--data', `@${large}`, '--json'],
    ['sessions', 'fork', 'a', '--json'],
    ['run', '--record', '--session', 'a', '--json', '--', 'true'],
  ]) {
    const { code, envelope } = await limited(...args)
    expect([args[1], code, envelope().error?.code]).toEqual([args[1], 12, 'FILE_TOO_LARGE'])
  }
  const inspection = await store.inspect('a')
  expect([inspection.summary.records, (await inspection.health()).ok]).toEqual([40, true])
})
