import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { ownIdentity } from '../src/base/process/liveness.ts'
import { shellWord } from '../src/base/text/escape.ts'
import { acquireLease, fileStore } from '../src/lease/index.ts'
import { sessionLocked } from '../src/session/session-errors.ts'
import { hookBin } from './support/hook-host.ts'
import { deadPid, plant } from './support/plant.ts'
import { type Holding, SessionWorld } from './support/session-world.ts'
import { stintBin } from './support/world.ts'

/** Sets the title, clears the screen, rings, colours and reverses text, in every encoding of an escape. */
const hostile =
  'x\u001b]0;pwned\u0007\u001b[2J\u009b31m\u009d0;y\u009c\u007f\u0085\u202e\u2066\u200f\r\u0008z'

/** Everything that a terminal would obey, except the end of a line and a tab. */
const obeyed = /[^\P{Cc}\n\t]|[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/u

// Without colours and progress bars, stint itself writes no escapes.
const world = new SessionWorld({ NO_COLOR: '1', CI: '1', SHELL: '/bin/sh', STINT_OUTPUT: '' })
const workspace = join(world.tmp, `work-${hostile}`)
const scratch = plant(world, { ...ownIdentity(), pid: deadPid }, { command: hostile, session_id: hostile })
let holding: Holding

beforeAll(async () => {
  for (const directory of [workspace, join(world.tmp, hostile, '.claude')])
    mkdirSync(directory, { recursive: true })
  writeFileSync(join(world.tmp, hostile, '.claude/settings.json'), `{"stint-hook": ${hostile}`)
  writeFileSync(join(scratch, hostile), '')
  await using session = await world.store.create({ id: 'mine', tool: hostile, title: hostile, workspace })
  await session.append({ type: hostile, data: { [hostile]: hostile } })
  await session.slot('slot', { version: hostile, initial: '' }).set(hostile)
  await session.audit({ action: hostile, subject: hostile, key: hostile, phase: 'intent', act: hostile })
  await session.audit({ action: hostile, subject: hostile, detail: hostile })
  holding = await world.hold('held', hostile)
  for (const target of [`--workspace=${workspace}`, `--resource=${hostile}`]) {
    const args = ['lock', 'acquire', '--session', 'theirs', '--purpose', hostile, target]
    await world.stint(args, { cwd: world.tmp })
  }
})

afterAll(async () => {
  await holding.close()
  await world[Symbol.asyncDispose]()
})

const target = `--workspace=${workspace}`

const commands: string[][] = [
  [hostile],
  ['lock', hostile],
  ['run', `--${hostile}`],
  ['run', `--keep=${hostile}`, '--', 'true'],
  ['run', '--', hostile],
  ['run', '--verbose', '--', `./${hostile}`],
  ['run', '--session', hostile, '--', 'true'],
  ['run', '--keep', 'always', '--', 'true'],
  ['run', '--lock', `--resource=${hostile}`, '--', 'true'],
  ['lock', 'acquire', '--session', 'mine', target],
  ['lock', 'acquire', '--session', 'theirs', target],
  ['lock', 'wait', '--session', 'mine', '--timeout', '0s', target],
  ['lock', 'acquire', '--session', 'mine', `--resource=${hostile}`],
  ['lock', 'acquire', '--session', 'theirs', '--resource', `other ${hostile}`],
  ['lock', 'acquire', '--session', 'mine', '--pid', hostile],
  ['lock', 'status', '--session', 'mine', target, '--fence', '7'],
  ['lock', 'release', '--session', 'mine', target, '--path', `../${hostile}`],
  ['lock', 'status', target],
  ['lock', 'status', '--all'],
  ['lock', 'status', '--all', '--json'],
  ['lock', 'break', '--session', 'their', target],
  ['lock', 'break', '--session', hostile, target],
  ['sessions', 'list'],
  ['sessions', 'list', '--json'],
  ['sessions', 'show', 'mine'],
  ['sessions', 'show', 'held'],
  ['sessions', 'show', hostile],
  ['sessions', 'tail', 'mine', '--all'],
  ['sessions', 'tail', 'mine', '--all', '--json'],
  ['sessions', 'tail', 'mine', '-n', 'all', '--all'],
  ['sessions', 'list', '--sort', 'size'],
  ['sessions', 'verify', '--all'],
  ['sessions', 'rm', 'held', '--yes'],
  ['sessions', 'rm', 'hel'],
  ['sessions', 'unlock', 'hel'],
  ['sessions', 'append', 'mine', '--type', 'x', '--data', hostile],
  ['sessions', 'append', 'mine', '--type', 'x', '--data', `@${hostile}`],
  ['sessions', 'append', 'mine', '--type', `stint.${hostile}`],
  ['sessions', 'list', '--store', hostile],
  ['audit', 'show', 'mine'],
  ['audit', 'show', 'mine', '--json'],
  ['audit', 'verify', 'mine'],
  ['status'],
  ['doctor'],
  ['temp', 'list'],
  ['temp', 'list', '--json'],
  ['temp', 'stats'],
  ['temp', 'why', join(scratch, hostile)],
  ['temp', 'why', `/${hostile}`],
  ['temp', 'check', '--wait', '0s'],
  ['sweep', '--dry-run'],
  ['hook', 'status'],
  ['hook', 'status', hostile],
  ['hook', 'install', 'claude', '--dry-run'],
  ['hook', 'install', 'claude'],
  ['completion', hostile],
]

test.each(commands.map((args) => [args.join(' ').replaceAll(hostile, '…').replaceAll(world.tmp, ''), args]))(
  'names and texts of others do not control the terminal: stint %s',
  async (_, args) => {
    const line = [process.execPath, stintBin, ...(args as string[])].map(shellWord).join(' ')
    const env = { HOME: join(world.tmp, hostile), STINT_DEBUG: '1' }
    const terminal = world.start('script', ['-qec', line, '/dev/null'], {
      env,
      cwd: workspace,
      stdio: 'pipe',
    })
    // The answer to commands that ask. Its pipe stays open: at the end of its input `script` waits for 2 s.
    terminal.child.stdin?.write('n\n')
    const { stdout } = await terminal.finished
    // oxlint-disable-next-line no-control-regex -- readline places the cursor when it asks
    const shown = stdout.replaceAll(/\r+\n/g, '\n').replaceAll(/\u001b\[(?:\d+G|0J)/g, '')
    expect(shown.match(obeyed), shown).toBeNull()
  },
)

test('the refusal of a hook names the holder, and does not control the terminal', async () => {
  const args = [hookBin, 'git', 'pre-commit']
  const { code, stderr } = await world.start(process.execPath, args, { cwd: workspace }).finished
  expect([code, stderr]).toEqual([2, expect.stringContaining('held by theirs')])
  expect(stderr).not.toMatch(obeyed)
})

test('the error of a lease that another session holds does not control the terminal', async () => {
  const store = fileStore(world.home)
  const refused = await acquireLease({ sessionId: 'mine', workspace, store }).catch((error: Error) => error)
  expect(refused).toMatchObject({ code: 'LOCK_HELD', message: expect.stringContaining('theirs') as string })
  expect(String(refused)).not.toMatch(obeyed)
})

test('the error of a session that another machine holds does not control the terminal', () => {
  const holder = { process: ownIdentity(), epoch: 1, since: 0, beat: 0, kind: 'writer' as const }
  const { message, options } = sessionLocked('mine', { ...holder, host: hostile, purpose: hostile })
  expect(message).not.toMatch(obeyed)
  expect(options.detail).not.toMatch(obeyed)
})
