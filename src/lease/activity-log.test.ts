import { mkdirSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test, vi } from 'vitest'
import { LockWorld } from '../../test/support/lock-world.ts'
import { projectRoot } from '../../test/support/world.ts'
import { ownIdentity } from '../base/process/liveness.ts'
import { type ClaimActivity, endedSince, parseActivities } from './activity-log.ts'
import type { Claim } from './claim.ts'
import { homeStore } from './file-register.ts'
import { acquireLease } from './lease.ts'
import { WorkspaceClaims } from './workspace-claims.ts'

/** A workspace whose leases are kept in the home of the test. */
class ActivityWorld extends LockWorld {
  readonly store = homeStore(this.env)
  readonly opened = WorkspaceClaims.open(this.store, { workspace: this.workspace })
  readonly log = join(this.home, 'activity', `${this.key}.log`)

  lease(
    sessionId: string,
    more: { paths?: string[]; purpose?: string; wait?: number; signal?: AbortSignal } = {},
  ) {
    const { workspace, store } = this
    const paths = more.paths?.map((path) => join(workspace, path))
    return acquireLease({ store, workspace, sessionId, ...more, paths })
  }

  /** What the log says, without times and numbers. */
  async kinds(): Promise<string[]> {
    const activities = await this.opened.activity.read()
    return activities.map(({ kind, session_id, by }) => [kind, session_id, by].filter(Boolean).join(' '))
  }
}

test('of a refusal that is repeated, the origin is not looked up again', async () => {
  await using world = new ActivityWorld()
  await world.lease('first')
  const { record, observation } = await world.opened.read()
  const [holder] = record.claims
  let looks = 0
  const request = {
    sessionId: 'second',
    holder: null,
    paths: ['**'],
    mode: 'exclusive' as const,
    forMs: 1000,
    origin: () => {
      looks += 1
      return { agent: 'Claude Code' }
    },
  }
  for (let count = 0; count < 3; count++)
    if (holder) await world.opened.activity.noteBlocked('refusal', request, holder, observation.now)
  const [, refusal] = await world.opened.activity.read()
  expect(looks).toBe(1)
  expect(refusal).toMatchObject({ kind: 'refusal', by: 'first', origin: { agent: 'Claude Code' } })
})

test('the log has each grant, wait, refusal, release and break, and no refresh', async () => {
  await using world = new ActivityWorld()
  const { opened: claims } = world
  const first = await world.lease('first', { purpose: 'the API' })
  await first.refresh()
  await world.lease('first')
  await expect(world.lease('second')).rejects.toThrow('held by first')
  const giveUp = new AbortController()
  const waiting = world.lease('second', { wait: 60_000, signal: giveUp.signal })
  await vi.waitUntil(async () => (await world.kinds()).includes('wait second first'), { timeout: 60_000 })
  giveUp.abort()
  await expect(waiting).rejects.toThrow(/abort/i)
  await first.release()
  const second = await world.lease('second')
  await claims.break({ session_id: 'second', fence: second.fence }, { by: 'ada', reason: 'hung', at: 1 })
  await second.release()
  expect(await world.kinds()).toEqual([
    'grant first',
    'refusal second first',
    'wait second first',
    'release first',
    'grant second',
    'break second ada',
  ])
  expect(await claims.activity.read()).toMatchObject([
    { at: expect.any(Number), pid: process.pid, paths: ['**'], purpose: 'the API', fence: first.fence },
    { paths: ['**'], purpose: null },
    {},
    { held_ms: expect.any(Number), fence: first.fence },
    {},
    { held_ms: expect.any(Number), reason: 'hung' },
  ])
  expect(statSync(world.log).mode & 0o777).toBe(0o600)
  expect(statSync(join(world.home, 'activity')).mode & 0o777).toBe(0o700)
})

test('a claim whose processes are dead is noted as taken over, by the session that got it', async () => {
  await using world = new ActivityWorld()
  const dead = { ...ownIdentity(), pid: 2 ** 22 + 1 }
  world.plantClaim({ holders: [dead], acquired_at: Date.now() - 5000 })
  await (await world.lease('next')).release()
  expect(await world.kinds()).toEqual(['takeover planted next', 'grant next', 'release next'])
  const [{ held_ms } = {}] = await world.opened.activity.read()
  expect(held_ms).toBeGreaterThanOrEqual(4900)
})

test('paths that a session adds are a grant, and paths that it gives up are a release', async () => {
  await using world = new ActivityWorld()
  const { opened: claims } = world
  await world.lease('a', { paths: ['src'] })
  await world.lease('a', { paths: ['docs'] })
  await claims.release({ sessionId: 'a', paths: ['src'] })
  const activities = await claims.activity.read()
  expect(activities.map(({ kind, paths }) => `${kind} ${paths.join(' ')}`)).toEqual([
    'grant src',
    'grant docs src',
    'release src',
  ])
})

test('an agent that tries again and again is noted once a minute for each holder', async () => {
  await using world = new ActivityWorld()
  const held = await world.lease('holder')
  for (let i = 0; i < 5; i++) await expect(world.lease('eager')).rejects.toThrow('held by holder')
  await expect(world.lease('other')).rejects.toThrow('held by holder')
  await held.release()
  await world.lease('next')
  await expect(world.lease('eager')).rejects.toThrow('held by next')
  const refusals = (await world.kinds()).filter((line) => line.startsWith('refusal'))
  expect(refusals).toEqual(['refusal eager holder', 'refusal other holder', 'refusal eager next'])
})

test('no line is long, whatever a session calls its purpose and its paths', async () => {
  await using world = new ActivityWorld()
  const paths = Array.from({ length: 500 }, (_, i) => `${'d'.repeat(200)}${i}`)
  await world.lease('a', { purpose: `\n"\u001b${'p'.repeat(9000)}`, paths })
  const [line = '', rest] = readFileSync(world.log, 'utf8').split('\n')
  expect(rest).toBe('')
  expect(line.length).toBeLessThan(4000)
})

const hostile: [string, (log: string) => void][] = [
  ['a link', (log) => symlinkSync('/etc/passwd', log)],
  ['a directory', (log) => mkdirSync(log)],
  ['a line of 10 MB', (log) => writeFileSync(log, 'x'.repeat(10_000_000))],
  [
    'garbage',
    (log) => writeFileSync(log, '\u0000{"kind":"grant"}\n[]\n{"at":1,"kind":"x","session_id":"y"}\n'),
  ],
  [
    'a link in place of its directory',
    (log) => {
      rmSync(join(log, '..'), { recursive: true })
      symlinkSync('/etc', join(log, '..'))
    },
  ],
]

test.each(hostile)('%s in place of a log disturbs no lease', async (_what, plant) => {
  await using world = new ActivityWorld()
  mkdirSync(join(world.home, 'activity'), { recursive: true, mode: 0o700 })
  plant(world.log)
  const lease = await world.lease('a')
  await expect(world.lease('b')).rejects.toThrow('held by a')
  await lease.release()
  for (const { session_id } of await world.opened.activity.read()) expect(['a', 'b']).toContain(session_id)
})

test('a full disk and a read-only directory of logs disturb no lease', async () => {
  await using world = new ActivityWorld()
  const program = `
    import { acquireLease } from ${JSON.stringify(join(projectRoot, 'dist/index.js'))}
    for (const sessionId of ['a', 'b']) await (await acquireLease({ sessionId, purpose: 'p'.repeat(200) })).release()
    console.log('leased')`
  for (const options of ['size=4k,mode=0700', 'ro,mode=0700']) {
    const script = `mkdir -p "$STINT_HOME/activity" && chmod 700 "$STINT_HOME" && mount -t tmpfs -o ${options} tmpfs "$STINT_HOME/activity" &&
      { head -c 4000 /dev/zero > "$STINT_HOME/activity/filler"; "$0" --input-type=module -e "$1"; }`
    const ended = await world.unshare(['--mount'], 'sh', ['-c', script, process.execPath, program])
    expect(ended.stdout).toBe('leased\n')
  }
})

const activity = (
  kind: ClaimActivity['kind'],
  session_id: string,
  more: Partial<ClaimActivity> = {},
): ClaimActivity => ({
  at: 0,
  kind,
  session_id,
  pid: 1,
  paths: ['**'],
  purpose: null,
  ...(['release', 'takeover', 'break'].includes(kind) ? { held_ms: 1000 } : {}),
  ...more,
})

const claim = { session_id: 'me', fence: 9, paths: ['**'] } as Claim

test.each<[string, ClaimActivity[], string[]]>([
  ['a session that was never here', [activity('grant', 'b'), activity('release', 'b')], []],
  [
    'a session after its own claim',
    [activity('grant', 'b'), activity('release', 'b'), activity('release', 'me')],
    [],
  ],
  [
    'a session that held it before others',
    [activity('release', 'me'), activity('grant', 'b'), activity('release', 'b'), activity('takeover', 'c')],
    ['b', 'c'],
  ],
  [
    'a session that was refused',
    [activity('grant', 'b'), activity('refusal', 'me'), activity('release', 'b')],
    ['b'],
  ],
  [
    'a session whose own program held it',
    [activity('release', 'me'), activity('release', 'b', { parent: 'me' })],
    [],
  ],
  ['a session whose rival still holds other paths', [activity('release', 'me'), activity('grant', 'b')], []],
])('%s is told of the claims that ended since', (_who, history, told) => {
  const lines = [...history, activity('grant', 'me', { fence: 9 })]
  expect(endedSince(lines, { ...claim, paths: ['**'] }).map(({ session_id }) => session_id)).toEqual(told)
})

test('a session that claims single files is told of others only for the files it gets', () => {
  const history = [
    activity('grant', 'me', { paths: ['a'], fence: 1 }),
    activity('release', 'b', { paths: ['b'] }),
    activity('grant', 'me', { paths: ['a', 'c'], fence: 2 }),
  ]
  const gained = (path: string): string[] =>
    endedSince(history, { ...claim, paths: [path] }).map(({ session_id }) => session_id)
  expect([gained('b'), gained('d')]).toEqual([['b'], []])
})

test('a line that a full disk has torn takes no other line with it', () => {
  const whole = JSON.stringify({ session_id: 'a', kind: 'grant', at: 1 })
  const torn = whole.slice(0, 20)
  expect(parseActivities([torn + whole, torn, '', 'null']).map(({ session_id }) => session_id)).toEqual(['a'])
})
