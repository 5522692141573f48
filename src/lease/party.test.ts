import { expect, test } from 'vitest'
import { at, empty, granted, identity, wants } from '../../test/support/claim-samples.ts'
import { ownIdentity } from '../base/process/liveness.ts'
import type { Claim, ClaimsRecord } from './claim.ts'
import { areKin, type Descent, findAncestors, readDescent } from './party.ts'

const { pid: _pid, started: _started, ...machine } = identity(1)

/** A party below these processes, the nearest first. */
const below = (pids: readonly number[], more: Partial<Descent> = {}) => ({
  sessionId: 'asker',
  descent: (): Descent => ({
    machine,
    processes: pids.map((pid) => ({ pid, started: pid })),
    isComplete: true,
    sessions: [],
    variables: [],
    ...more,
  }),
})

/** Claims on one file each, so that none is in the way of another. */
const claimsOf = (...claims: { session: string; pid: number | null; ancestors?: string[] }[]): Claim[] =>
  claims.map(({ session, pid, ancestors }) => {
    const holder = pid === null ? null : identity(pid)
    const record: ClaimsRecord = granted(empty, wants(session, { holder, paths: [session] }), at(0))
    return { ...(record.claims[0] as Claim), ...(ancestors === undefined ? {} : { ancestors }) }
  })

test('a party works for the session at the nearest process above it, and for those that this one works for', () => {
  const claims = claimsOf(
    { session: 'outer', pid: 10 },
    { session: 'inner', pid: 20, ancestors: ['outer'] },
    { session: 'other', pid: 30 },
  )
  expect(findAncestors(claims, below([25, 20, 15, 10, 1]))).toEqual(['inner', 'outer'])
  expect(findAncestors(claims, below([15, 10, 1]))).toEqual(['outer'])
  expect(findAncestors(claims, below([15, 1]))).toBeUndefined()
  expect(findAncestors(claims, { sessionId: 'asker' })).toBeUndefined()
})

test('in a process with several sessions, a claim is not that of a party whose variable names another', () => {
  const [claim] = claimsOf({ session: 'one', pid: 10 }) as [Claim]
  const parent = (variables: string[], more: object) =>
    findAncestors(
      [{ ...claim, origin: { variable: 'CODEX_THREAD_ID=one', ...more } }],
      below([10], { variables }),
    )
  const shared = { shared_process: true as const }
  expect(parent(['CODEX_THREAD_ID=two'], shared)).toBeUndefined()
  expect(parent(['CODEX_THREAD_ID=one'], shared)).toEqual(['one'])
  expect(parent(['CLAUDE_CODE_SESSION_ID=two'], shared)).toEqual(['one'])
  expect(parent(['CODEX_THREAD_ID=two'], {})).toEqual(['one'])
})

test('a process with the same pid but another start time, or on another machine, is no ancestor', () => {
  const claims = claimsOf({ session: 'a', pid: 10 })
  const reused = { processes: [{ pid: 10, started: 11 }] }
  expect(findAncestors(claims, below([], reused))).toBeUndefined()
  expect(findAncestors(claims, below([10], { machine: { ...machine, boot: 'x' } }))).toBeUndefined()
})

test('of several sessions in one process, the one that a variable names is the parent; without one, none is', () => {
  const claims = claimsOf(
    { session: 'outer', pid: 1 },
    { session: 'a', pid: 10, ancestors: ['outer'] },
    { session: 'b', pid: 10 },
  )
  expect(findAncestors(claims, below([10], { sessions: ['b'] }))).toEqual(['b'])
  expect(findAncestors(claims, below([10], { sessions: ['outer', 'b'] }))).toEqual(['b'])
  expect(findAncestors(claims, below([10], { sessions: ['gone'] }))).toBeUndefined()
  // The process above is an ancestor all the same.
  expect(findAncestors(claims, below([10, 1]))).toEqual(['outer'])
})

test('a session that shares its process with the session it works for is the nearer one', () => {
  const claims = claimsOf({ session: 'run', pid: 10 }, { session: 'agent', pid: 10, ancestors: ['run'] })
  expect(findAncestors(claims, below([10]))).toEqual(['agent', 'run'])
})

test('a command of one of several subagents counts as a command of any: its variable names only their session', () => {
  const claims = claimsOf(
    { session: 'main', pid: 10 },
    { session: 'main.one', pid: 10, ancestors: ['main'] },
    { session: 'main.two', pid: 10, ancestors: ['main'] },
    { session: 'other', pid: 10 },
  )
  const all = ['main.one', 'main', 'main.two']
  expect(findAncestors(claims, below([10], { sessions: ['main'] }))).toEqual(all)
  const subagents = claims.filter(({ session_id }) => session_id !== 'main')
  expect(findAncestors(subagents, below([10], { sessions: ['main'] }))).toEqual(all)
})

test('a variable alone names the parent only if the processes of its session cannot be seen from here', () => {
  const sessions = ['a']
  const visible = claimsOf({ session: 'a', pid: 10 })
  const inContainer = { ...machine, pidns: '2' }
  expect(findAncestors(visible, below([1], { sessions }))).toBeUndefined()
  expect(findAncestors(visible, below([1], { sessions, machine: inContainer }))).toEqual(['a'])
  expect(findAncestors(visible, below([], { sessions, isComplete: false }))).toEqual(['a'])
  expect(findAncestors(claimsOf({ session: 'a', pid: null }), below([1], { sessions }))).toEqual(['a'])
})

test('no party works for itself, and a subagent works for its session and for what is above that', () => {
  const claims = claimsOf({ session: 'asker', pid: 10 }, { session: 'main', pid: 20, ancestors: ['run'] })
  expect(findAncestors(claims, below([10]))).toBeUndefined()
  expect(findAncestors(claims, { ...below([20]), sessionId: 'main.one', parent: 'main' })).toEqual([
    'main',
    'run',
  ])
  expect(findAncestors([], { sessionId: 'main.one', parent: 'main' })).toEqual(['main'])
})

test('parent and child are kin, and so are a session and itself; siblings are not', () => {
  const one = { session_id: 'one', ancestors: ['main', 'run'] }
  const two = { session_id: 'two', ancestors: ['main', 'run'] }
  expect(areKin(one, { session_id: 'run' }) && areKin({ session_id: 'main' }, one)).toBe(true)
  expect(areKin(one, { session_id: 'one' })).toBe(true)
  expect(areKin(one, two)).toBe(false)
})

test('the processes above this one are read without itself, with the sessions that variables name', () => {
  const env = { STINT_SESSION_ID: 'run', CLAUDE_CODE_SESSION_ID: '' }
  const { processes, isComplete, sessions } = readDescent(process.pid, env)
  expect(processes[0]).toMatchObject({ pid: process.ppid })
  expect(processes).not.toContainEqual(expect.objectContaining({ pid: ownIdentity().pid }))
  expect([isComplete, sessions]).toEqual([true, ['run']])
  expect(readDescent(0x7ffffff0, {})).toMatchObject({ processes: [], isComplete: false })
})
