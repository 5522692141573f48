import { readdirSync, readlinkSync } from 'node:fs'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { stintBin, until, World } from '../../../test/support/world.ts'
import { demoError } from './stage.ts'

let world: World
beforeEach(() => {
  world = new World()
})
afterEach(() => world[Symbol.asyncDispose]())

const promisedMs = 60_000

test(
  'the demo shows what it claims with real processes, and leaves nothing behind',
  { timeout: promisedMs },
  async () => {
    // The suite itself may be run by npx.
    const { code, stdout } = await world.stint(['demo'], { env: { npm_command: '' } })
    expect(code).toBe(0)
    expect(stdout).toContain('ada’s edit is lost')
    expect(stdout).toContain('both edits are there')
    expect(stdout).toMatch(
      /- buy a boat[^]*- book the train[^]*stint undo ada[^]*- buy milk[^]*- book the train/,
    )
    expect(stdout).toContain('contains 200 files')
    expect(stdout).toContain('nothing is left')
    expect(stdout).toMatch(/vault restore 5b1f6a02\n.*1 file, \d+ B: ~\/\.claude\/projects/)
    expect(stdout).toContain('every byte is back')
    expect(stdout).not.toContain('\x1b')
    expect(stdout).not.toContain(world.tmp)
    expect(stdout).toContain('`stint init` sets it up')
    expect(world.leftovers()).toEqual([])
  },
)

test('under npx, the demo ends with a command that the shell finds', async () => {
  const { stdout } = await world.stint(['demo'], { env: { npm_command: 'exec' } })
  expect(stdout).toContain('`npx stint init` sets it up')
})

test('a command line that the demo prints is the one it runs', async () => {
  const { stdout } = await world.stint(['demo'])
  expect(stdout).toContain('$ stint run --lock --session ada -- sh ada.sh\n')
  expect(stdout).toMatch(/stint run: .*~\/project is held by ada/)
})

test('a killed demo leaves neither files nor processes', async () => {
  const demo = world.startStint(['demo'])
  await until('a process of the demo is up', () => processesIn(world.root).length > 0)
  process.kill(demo.pid, 'SIGKILL')
  await until('its scratch is gone', () => world.leftovers().length === 0)
  await until('its processes are gone', () => processesIn(world.root).length === 0)
})

/** Processes that work in a workspace of the demo. */
function processesIn(root: string): string[] {
  return readdirSync('/proc').filter((pid) => {
    if (!/^\d+$/.test(pid)) return false
    try {
      return readlinkSync(`/proc/${pid}/cwd`).startsWith(root)
    } catch {
      return false
    }
  })
}

test.each([64, 128, 512])('in a temp directory of %i KiB the demo reports a full disk', async (kib) => {
  const script = `mount -t tmpfs -o size=${kib}k,mode=1777 tmpfs "$STINT_TMP_ROOT" && exec "$0" "$1" demo --json`
  const { code, envelope } = await world.unshare(['--mount'], 'sh', [
    '-c',
    script,
    process.execPath,
    stintBin,
  ])
  expect(envelope().error).toMatchObject({ code: 'DISK_FULL' })
  expect(code).toBe(12)
})

test('an error of a process becomes the error of the demo; without one, the demo itself is at fault', () => {
  const said = 'stint run: cannot make a scratch: EROFS (READ_ONLY)\n  hint\n'
  expect(demoError('x', said)).toMatchObject({
    code: 'READ_ONLY',
    message: 'the demo stopped: cannot make a scratch: EROFS',
  })
  expect(demoError('x', 'stint run: odd (NO_SUCH_CODE)\n').code).toBe('UNEXPECTED')
  expect(demoError('an edit is lost', '').message).toBe('the demo failed: an edit is lost')
})
