import { expect, test } from 'vitest'
import { at, empty, identity, lives, minute } from '../../test/support/claim-samples.ts'
import { geteuid } from '../base/process/platform.ts'
import type { ProcessTable, TableProcess } from '../base/process/process-table.ts'
import { type Claim, defaultBusyTtlMs, type HolderCall } from './claim-record.ts'
import { claimStatus, isInForce, type Observation, remainingMs } from './claim-status.ts'
import { backgroundOf, type Work, workOf } from './claim-work.ts'
import { decideYield } from './rules.ts'

const start = 1e12
const agent = 97

/** A claim on `/w` that the agent took at `start`, 1000 ticks after boot, with a call since then. */
const claimWith = (call: Partial<HolderCall>, more: Partial<Claim> = {}): Claim => ({
  session_id: 'a',
  pid: agent,
  acquired_at: start,
  ttl_ms: 5 * minute,
  busy_ttl_ms: defaultBusyTtlMs,
  refreshed_at: start,
  mono: 0,
  clock: 'boot',
  paths: ['**'],
  mode: 'exclusive',
  fence: 1,
  first_fence: 1,
  purpose: null,
  narrowed: false,
  detached: false,
  ticks: 1000,
  policy: { prompt_hold_ms: 30 * minute, background_ms: 10 * minute, mark: 'SESSION=a' },
  holders: [
    { ...identity(agent), calls: [{ id: 'x', since: start, ticks: 1000, kind: 'command', ...call }] },
  ],
  ...more,
})

const withoutCalls = (more: Partial<Claim>): Claim =>
  claimWith({}, { holders: [{ ...identity(agent), calls: [] }], ...more })

interface Sample extends Partial<TableProcess> {
  pid: number
  directory?: string
  environment?: string
  command?: string
  user?: number
}

/** A child of the agent that started with the call, in the workspace. */
const child = (more: Partial<Sample> = {}): Sample => ({ pid: 200, ppid: agent, started: 1000, ...more })

/** A table with the agent in it, unless `agentIsSeen` says otherwise. */
function tableOf(samples: readonly Sample[], agentIsSeen = true): ProcessTable {
  const all: Sample[] = [...(agentIsSeen ? [{ pid: agent, started: agent }] : []), ...samples]
  const find = (pid: number) => all.find((each) => each.pid === pid)
  return {
    isComplete: agentIsSeen,
    processes: all.map(({ pid, ppid = 1, name = 'make', started = 1000, state = 'S' }) => {
      return {
        pid,
        ppid,
        name,
        started,
        state,
        threads: 1,
        startedAt: start + ((started ?? 1000) - 1000) * 10,
      }
    }),
    directoryOf: (pid) => find(pid)?.directory ?? '/w/src',
    userOf: (pid) => find(pid)?.user ?? geteuid(),
    environmentOf: (pid) => `\0${find(pid)?.environment ?? 'OTHER=1'}\0`,
    commandOf: (pid) => find(pid)?.command ?? 'make\0all\0',
  }
}

const seen = (ms: number, table: ProcessTable, more: Partial<Observation> = {}): Observation =>
  at(ms, { processes: () => table, workspace: '/w', ...more })

const stateOf = (claim: Claim, observation: Observation): Work['state'] | 'none' =>
  workOf(claim, observation)?.state ?? 'none'

const late = 20 * minute

test.each([
  ['running', 'a child that is younger than the call', [child()]],
  ['running', 'a grandchild', [child({ started: 999 }), child({ pid: 201, ppid: 200 })]],
  ['none', 'a child that is older than the call', [child({ started: 999 })]],
  ['none', 'a child that has ended', [child({ state: 'Z' })]],
  ['none', 'a program that keeps the machine awake', [child({ name: 'caffeinate' })]],
  ['none', 'a process of another program', [child({ ppid: 1 })]],
  ['none', 'this process and its parent', [child({ pid: process.pid, ppid: 300 }), child({ pid: 300 })]],
  ['running', 'a child in another directory', [child({ directory: '/elsewhere' })]],
  ['none', 'nothing', []],
] as const)('the state of a call is %s with %s', (state, _what, processes) => {
  expect(stateOf(claimWith({}), seen(late, tableOf(processes)))).toBe(state)
})

test('a call counts as running for 10 seconds without a process, and an edit for a minute', () => {
  const state = (kind: HolderCall['kind'], ms: number) => stateOf(claimWith({ kind }), seen(ms, tableOf([])))
  expect([state('command', 10_000), state('command', 10_001)]).toEqual(['running', 'none'])
  expect([state('edit', 60_000), state('edit', 60_001)]).toEqual(['running', 'none'])
})

test('finding no process proves nothing where the agent or its children cannot be seen', () => {
  expect(stateOf(claimWith({}), at(late))).toBe('running')
  expect(stateOf(claimWith({}), seen(late, tableOf([], false)))).toBe('running')
  expect(stateOf(claimWith({}), seen(late, { ...tableOf([]), isComplete: false }))).toBe('running')
  expect(stateOf(claimWith({}), seen(late, tableOf([]), { liveness: () => 'unknown' }))).toBe('none')
})

test('if several sessions share the process, a child counts in the workspace, and not for another session', () => {
  const shared = {
    policy: { prompt_hold_ms: 1, background_ms: 1, mark: 'SESSION=a', shared_process: true as const },
  }
  const state = (more: Partial<Sample>) => stateOf(claimWith({}, shared), seen(late, tableOf([child(more)])))
  expect(state({})).toBe('running')
  expect(state({ directory: '/w' })).toBe('running')
  expect(state({ directory: '/w2' })).toBe('none')
  expect(state({ directory: '' })).toBe('none')
  expect(state({ environment: 'SESSION=a' })).toBe('running')
  expect(state({ environment: 'SESSION=ab' })).toBe('none')
})

test('a call that waits for its user keeps the claim for the chosen time, unless it runs', () => {
  const waits = claimWith({ waiting_since: start + 1000 })
  expect(stateOf(waits, seen(2000, tableOf([])))).toBe('waiting')
  expect(stateOf(waits, seen(30 * minute + 1000, tableOf([])))).toBe('waiting')
  expect(stateOf(waits, seen(30 * minute + 1001, tableOf([])))).toBe('none')
  expect(stateOf(waits, seen(31 * minute, tableOf([child()])))).toBe('running')
  expect(remainingMs(waits, seen(late, tableOf([])))).toBe(10 * minute + 1001)
})

test('a process that was noted at the end of a turn keeps the claim until it ends, or its time is over', () => {
  const background = [{ pid: 200, started: 1000, name: 'vite', since: start + minute }]
  const ended = withoutCalls({ background, turn_ended: true })
  const status = (ms: number, liveness = lives({})) => claimStatus(ended, at(ms, { liveness }))
  expect(status(11 * minute)).toBe('busy')
  expect(status(11 * minute + 1)).toBe('expired')
  expect(status(2 * minute, lives({ 200: 'dead' }))).toBe('expired')
  expect(status(2 * minute, lives({ [agent]: 'dead' }))).toBe('busy')
  expect(
    claimStatus(withoutCalls({ background }), at(2 * minute, { liveness: lives({ 200: 'dead' }) })),
  ).toBe('fresh')
  expect(workOf(ended, at(2 * minute))).toMatchObject({ process: { pid: 200, name: 'vite' } })
})

test('a process that a noted one has started before it ended keeps the claim for the rest of the time', () => {
  const background = [{ pid: 200, started: 1000, name: 'make', since: start + minute }]
  const ended = withoutCalls({ background, turn_ended: true })
  const liveness = lives({ 200: 'dead' })
  const state = (ms: number, more: Partial<Sample>) =>
    stateOf(ended, seen(ms, tableOf([child({ pid: 201, started: 1500, ...more })]), { liveness }))
  expect(state(11 * minute, {})).toBe('background')
  expect(state(11 * minute, { ppid: 1, environment: 'SESSION=a' })).toBe('background')
  expect(state(11 * minute + 1, {})).toBe('none')
  expect(state(2 * minute, { ppid: 1 })).toBe('none')
})

test('a process that is new at the end of a turn is noted, however many were noted before', () => {
  const servers = Array.from({ length: 8 }, (_, i) => child({ pid: 200 + i }))
  const background = servers.map(({ pid }) => ({ pid, started: 1000, name: 'make', since: start - minute }))
  const found = backgroundOf(
    withoutCalls({ background }),
    seen(late, tableOf([...servers, child({ pid: 300 })])),
  )
  expect(found.map(({ pid }) => pid)).toContain(300)
})

test('a process that a noted one has started counts since that one was noted, also in a later turn', () => {
  const background = [{ pid: 200, started: 1000, name: 'nodemon', since: start - minute }]
  const table = tableOf([child(), child({ pid: 201, ppid: 200, started: 1500 }), child({ pid: 300 })])
  const found = backgroundOf(withoutCalls({ background }), seen(late, table))
  expect(found.map(({ pid, since }) => [pid, since])).toEqual([
    [200, start - minute],
    [300, start + late],
    [201, start - minute],
  ])
})

test('the successor of an ended process keeps the claim although an older process was noted, too', () => {
  const background = [
    { pid: 200, started: 1000, name: 'vite', since: start - 20 * minute },
    { pid: 201, started: 1000, name: 'make', since: start + minute },
  ]
  const ended = withoutCalls({ background, turn_ended: true })
  const table = tableOf([child(), child({ pid: 202, ppid: 1, started: 1500, environment: 'SESSION=a' })])
  const state = stateOf(ended, seen(2 * minute, table, { liveness: lives({ 201: 'dead' }) }))
  expect(state).toBe('background')
})

test('if several sessions share the process, background work of another session does not count', () => {
  const policy = {
    prompt_hold_ms: 1,
    background_ms: minute,
    mark: 'SESSION=a',
    shared_process: true as const,
  }
  const found = (environment: string) =>
    backgroundOf(withoutCalls({ policy }), seen(late, tableOf([child({ environment })])))
  expect(found('SESSION=b')).toEqual([])
  expect(found('SESSION=a')).toHaveLength(1)
})

test.each([
  ['/usr/bin/node\0/opt/stint/dist/bin/stint-hook.cjs\0codex\0', false],
  ["sh\0-c\0'/opt/my tools/stint-hook' codex\0", false],
  ['vim\0src/stint-hooks.md\0', true],
])('a hook that starts at the end of another turn is no background work: %j', (command, counts) => {
  const found = backgroundOf(withoutCalls({}), seen(late, tableOf([child({ command })])))
  expect(found).toHaveLength(counts ? 1 : 0)
})

test('the process that asks is not in its own way, although it was noted', () => {
  const background = [{ pid: process.pid, started: 1000, name: 'claude', since: start + minute }]
  const ended = withoutCalls({ background, turn_ended: true })
  expect(stateOf(ended, seen(2 * minute, tableOf([child({ pid: process.pid })])))).toBe('none')
})

test.each([
  ['busy', 'with the mark of the session', { environment: 'SESSION=a' }],
  ['dead', 'without a mark', {}],
  ['dead', 'of another session', { environment: 'SESSION=b' }],
  ['dead', 'of another user', { environment: 'SESSION=a', user: geteuid() + 1 }],
  ['dead', 'in another directory', { environment: 'SESSION=a', directory: '/elsewhere' }],
  ['dead', 'that is older than the claim', { environment: 'SESSION=a', started: 999 }],
] as const)('the claim of a dead agent is %s with a process %s', (status, _what, more) => {
  const liveness = lives({ [agent]: 'dead' })
  const observation = seen(late, tableOf([child({ ppid: 1, ...more })], false), { liveness })
  expect(claimStatus(claimWith({}), observation)).toBe(status)
  expect(isInForce(claimWith({}), observation)).toBe(status === 'busy')
  expect(isInForce(claimWith({}, { dead_since: start + 9 * minute }), observation)).toBe(false)
  const ignored = { prompt_hold_ms: 1, background_ms: 0, mark: 'SESSION=a' }
  expect(claimStatus(claimWith({}, { policy: ignored }), observation)).toBe('dead')
})

test('the time of what a dead agent has left begins with a refusal in a directory above or below, too', () => {
  const left = claimWith({}, { paths: ['**'] })
  const table = tableOf([child({ ppid: 1, environment: 'SESSION=a' })], false)
  const observation = seen(late, table, { liveness: lives({ [agent]: 'dead' }) })
  const wanted = { session_id: 'b', paths: ['sub'], mode: 'exclusive' as const }
  const { next, answer } = decideYield({ ...empty, claims: [left] }, wanted, observation, undefined)
  expect(answer.by).toBe(left)
  expect(next?.claims).toMatchObject([{ dead_since: start + late }])
})

test('no work lasts longer than the claim may be busy', () => {
  const claim = claimWith({})
  expect(claimStatus(claim, seen(defaultBusyTtlMs, tableOf([child()])))).toBe('busy')
  expect(claimStatus(claim, seen(defaultBusyTtlMs + 1, tableOf([child()])))).toBe('expired')
})

test('the processes are not read while time alone decides', () => {
  const processes = (): never => {
    throw new Error('read')
  }
  expect(isInForce(claimWith({}), at(minute, { processes }))).toBe(true)
  expect(workOf(claimWith({ kind: 'edit' }), at(minute, { processes }))).toMatchObject({ state: 'running' })
  expect(isInForce(withoutCalls({}), at(late, { processes }))).toBe(false)
  expect(isInForce(withoutCalls({ policy: undefined }), at(1, { processes, liveness: () => 'dead' }))).toBe(
    false,
  )
})
