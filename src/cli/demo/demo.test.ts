import { readdirSync, readlinkSync } from 'node:fs'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { stintBin, until, World } from '../../../test/support/world.ts'
import { demoError } from './demo-process.ts'

let world: World
beforeEach(() => {
  world = new World()
})
afterEach(() => world[Symbol.asyncDispose]())

const promisedMs = 60_000

test(
  'the demo shows what it claims with real processes, within a minute, and leaves nothing behind',
  { timeout: promisedMs },
  async () => {
    const { code, envelope } = await world.stint(['demo', '--json'])
    expect(envelope()).toMatchObject({
      ok: true,
      data: {
        scenes: {
          collide: { edits: 2, kept: 1 },
          'take-turns': { edits: 2, kept: 2, refused_exit: 4 },
          'killed-run': { files: 200, left: 0 },
          'killed-session': { acknowledged: expect.any(Number) },
        },
      },
    })
    const { acknowledged, recovered } = (
      envelope().data as { scenes: Record<string, Record<string, number>> }
    ).scenes['killed-session'] as { acknowledged: number; recovered: number }
    expect(acknowledged).toBeGreaterThanOrEqual(25)
    expect(recovered).toBeGreaterThanOrEqual(acknowledged)
    expect(code).toBe(0)
    expect(world.leftovers()).toEqual([])
  },
)

test('the demo prints plain lines where there is no terminal', async () => {
  // The suite itself may be run by npx.
  const { code, stdout } = await world.stint(['demo'], { env: { npm_command: '' } })
  expect(code).toBe(0)
  expect(stdout).toContain('ada’s edit is lost')
  expect(stdout).toContain('both edits are there')
  expect(stdout).toContain('nothing is left')
  expect(stdout).toMatch(/all \d+ are there/)
  expect(stdout).toMatch(/tail \S+ -n 1\n.*and after the kill.*\n.*the session goes on/)
  expect(stdout).not.toContain('\x1b')
  expect(stdout).toContain('Next: `stint hook install` protects')
})

test('under npx, the demo ends with a command that the shell finds', async () => {
  const { stdout } = await world.stint(['demo'], { env: { npm_command: 'exec' } })
  expect(stdout).toContain('Next: `npx stint hook install` protects')
})

test('a command line that the demo prints is the one it runs', async () => {
  const { stdout } = await world.stint(['demo'])
  const purpose = 'ada edits notes.md'
  expect(stdout).toContain(`$ stint run --lock --session ada --purpose '${purpose}' -- sh ada.sh\n`)
  expect(stdout).toMatch(new RegExp(`stint run: .*held by ada.*${purpose}`))
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
