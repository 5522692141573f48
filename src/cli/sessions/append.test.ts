import { join } from 'node:path'
import { expect, test } from 'vitest'
import { stintBin, World } from '../../../test/support/world.ts'
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
  await using world = new World()
  // The second append finds one free inode: enough to take the lock, and none to give it back.
  const script = `mkdir "$0" && mount -t tmpfs -o nr_inodes=200,mode=0700 tmpfs "$0" && export STINT_HOME="$0/home"
    "$1" "$2" sessions append a --create --type first --json >/dev/null
    mount -o remount,nr_inodes=$(( $(df --output=iused "$0" | tail -n 1) + 1 )) "$0"
    "$1" "$2" sessions append a --type second --json; code=$?
    mount -o remount,nr_inodes=200 "$0"
    "$1" "$2" sessions events a >&2; exit $code`
  const args = ['-c', script, join(world.tmp, 'disk'), process.execPath, stintBin]
  const { code, envelope, stderr } = await world.unshare(['--mount'], 'sh', args)
  expect(code, stderr).toBe(0)
  expect(envelope()).toMatchObject({ ok: true, data: { session_id: 'a', taken_in: true } })
  expect(JSON.stringify(envelope())).toContain('did not end cleanly')
  expect(stderr.match(/"type":"\w+"/g)).toEqual(['"type":"first"', '"type":"second"'])
})
