import { once } from 'node:events'
import { mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { Worker } from 'node:worker_threads'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { until, World } from '../../test/support/world.ts'
import { identify } from '../base/process/liveness.ts'
import { fileStore } from './file-register.ts'
import { acquireLease, type Lease } from './lease.ts'
import type { LeaseOptions } from './lease.ts'
import { type LeaseStore, memoryStore, type Register } from './register.ts'
import { WorkspaceClaims } from './workspace-claims.ts'

let world: World
let store: LeaseStore
beforeEach(() => {
  world = new World()
  mkdirSync(join(world.tmp, 'work'))
  store = fileStore(world.tmp)
})
afterEach(() => world[Symbol.asyncDispose]())

const options = (sessionId: string, more: Partial<LeaseOptions> = {}): LeaseOptions => ({
  sessionId,
  workspace: join(world.tmp, 'work'),
  store,
  ...more,
})

test('a second session is refused until the first releases, and then gets a higher fence', async () => {
  const a = await acquireLease(options('a', { purpose: 'first' }))
  await expect(acquireLease(options('b'))).rejects.toMatchObject({
    code: 'LOCK_HELD',
    exit: 4,
    retryable: true,
    options: {
      facts: { holder: { session_id: 'a', pid: process.pid, purpose: 'first', liveness: 'alive' } },
    },
  })
  expect([await a.check(), await a.refresh(), await a.release(), await a.release(), await a.check()]).toEqual(
    [true, true, true, false, false],
  )
  const b = await acquireLease(options('b'))
  expect(b.fence).toBeGreaterThan(a.fence)
  expect([await b.check(), await b.refresh(), await b.release(), await b.release()]).toEqual([
    true,
    true,
    true,
    false,
  ])
})

test('a lease refreshes itself: long after its TTL it is still held', async () => {
  // Long enough for a busy machine to refresh in time.
  const lease = await acquireLease(options('a', { ttlMs: 1000 }))
  const epoch = lease.epoch
  await until('it has refreshed itself six times, over twice its TTL', () => lease.epoch >= epoch + 6)
  await expect(acquireLease(options('b'))).rejects.toMatchObject({ code: 'LOCK_HELD' })
  expect(lease.signal.aborted).toBe(false)
  await lease.release()
})

test('a lost lease aborts its signal, answers false to refresh and check, and takes nothing back', async () => {
  const lease = await acquireLease(options('a', { pid: null, ttlMs: 60_000 }))
  const { signal } = lease
  const thief = await acquireLease(options('a', { pid: null }))
  expect(await thief.release()).toBe(true)
  const next = await acquireLease(options('b'))
  await until('the signal aborts', () => signal.aborted)
  expect(signal.reason).toMatchObject({ code: 'LOCK_LOST' })
  expect([await lease.refresh(), await lease.check(), await lease.release()]).toEqual([false, false, false])
  expect(await next.check()).toBe(true)
  await next.release()
})

test('a waiter gets the lease when the holder releases or dies, and rejects when its signal aborts', async () => {
  const a = await acquireLease(options('a'))
  const waiting = acquireLease(options('b', { wait: 60_000 }))
  await a.release()
  const b = await waiting
  await b.release()

  const holder = world.start('sleep', ['300'])
  await acquireLease(options('c', { pid: holder.pid }))
  const afterDeath = acquireLease(options('d', { wait: 60_000 }))
  holder.child.kill('SIGKILL')
  const d = await afterDeath

  const stop = new AbortController()
  const aborted = acquireLease(options('e', { wait: 60_000, signal: stop.signal }))
  stop.abort(new Error('never mind'))
  await expect(aborted).rejects.toThrow('never mind')
  await d.release()
})

test('a process that joins a claim keeps it when the first holder dies', async () => {
  const [first, second] = [world.start('sleep', ['300']), world.start('sleep', ['300'])]
  const identity = identify(second.pid)
  const lease = await acquireLease(options('a', { pid: first.pid }))
  expect(identity && (await lease.join(identity))).toBe(true)
  first.child.kill('SIGKILL')
  await first.finished
  await expect(acquireLease(options('b'))).rejects.toMatchObject({ code: 'LOCK_HELD' })
  second.child.kill('SIGKILL')
  // The kill takes effect a moment later.
  const next = await acquireLease(options('b', { wait: 60_000 }))
  await next.release()
})

test('release gives the claim up for every process that has joined', async () => {
  const identity = identify(world.start('sleep', ['300']).pid)
  const lease = await acquireLease(options('a'))
  expect(identity && (await lease.join(identity))).toBe(true)
  expect(await lease.release()).toBe(true)
  const next = await acquireLease(options('b'))
  await next.release()
})

/** The store with a register that is changed. */
const withRegister = (change: (register: Register) => Partial<Register>): LeaseStore => ({
  ...store,
  register: { ...store.register, ...change(store.register) },
})

test('a swap that was applied and overtaken is not applied twice, and still counts', async () => {
  let isOvertaken = false
  store = withRegister(({ swap }) => ({
    async swap(...args) {
      const isWon = await swap(...args)
      if (!isOvertaken) return isWon
      isOvertaken = false
      return false
    },
  }))
  const claims = WorkspaceClaims.open(store, { workspace: join(world.tmp, 'work') })
  const request = { sessionId: 'a', paths: claims.pathsOf([]), mode: 'exclusive', forMs: 60_000 } as const
  isOvertaken = true
  const { answer } = await claims.tryAcquire({ ...request, holder: identify(process.pid) ?? null })
  expect(answer).toMatchObject({ granted: true, isNew: true })
  isOvertaken = true
  const ended = await claims.endTurn({ sessionId: 'a', hold: 'turn' })
  expect(ended.record.claims).toEqual([])

  const identity = identify(world.start('sleep', ['300']).pid)
  const lease = await acquireLease(options('a'))
  isOvertaken = true
  expect(identity && (await lease.join(identity))).toBe(true)
  const { record } = await claims.read()
  expect(record.claims[0]?.holders.map(({ pid }) => pid)).toEqual([process.pid, identity?.pid])
  isOvertaken = true
  expect(await lease.release()).toBe(true)
})

/** Uses a store in memory; returns a function that keeps the next swap from returning. */
function useHeldStore(): () => () => void {
  store = memoryStore()
  let gate: Promise<void> | undefined
  store = withRegister(({ swap }) => ({
    async swap(...args) {
      const isWon = await swap(...args)
      const held = gate
      gate = undefined
      await held
      return isWon
    },
  }))
  return () => {
    let go = (): void => {}
    gate = new Promise((resolve) => (go = resolve))
    return go
  }
}

const holderPids = async (): Promise<number[]> => {
  const { record } = await WorkspaceClaims.open(store, { workspace: join(world.tmp, 'work') }).read()
  return record.claims.flatMap(({ holders }) => holders.map(({ pid }) => pid))
}

/** Everything in a store in memory is done before the event loop turns. */
const turn = (): Promise<unknown> => new Promise((resolve) => setImmediate(resolve))

test('a refresh that ends after the release of its lease leaves a claim that was joined again alone', async () => {
  const holdNextSwap = useHeldStore()
  const { pid } = world.start('sleep', ['300'])
  await acquireLease(options('a', { pid }))
  const first = await acquireLease(options('a'))
  const letGo = holdNextSwap()
  const refreshed = first.refresh()
  await turn()
  expect(await first.release()).toBe(true)
  const again = await acquireLease(options('a'))
  letGo()
  expect(await refreshed).toBe(false)
  await turn()
  expect(await holderPids()).toEqual([pid, process.pid])
  expect(await again.release()).toBe(true)
})

test('a process that joins while the lease is released does not keep the claim', async () => {
  const holdNextSwap = useHeldStore()
  const identity = identify(world.start('sleep', ['300']).pid)
  const lease = await acquireLease(options('a'))
  const letGo = holdNextSwap()
  const joined = identity && lease.join(identity)
  await turn()
  expect(await lease.release()).toBe(true)
  letGo()
  expect(await joined).toBe(false)
  expect(await holderPids()).toEqual([])
})

test('disposing a lease releases it, in a store in memory, too', async () => {
  store = memoryStore()
  {
    await using lease = await acquireLease(options('a'))
    await expect(acquireLease(options('b'))).rejects.toMatchObject({ code: 'LOCK_HELD' })
    expect(lease.expiresAt).toBeGreaterThan(Date.now())
  }
  await using lease = await acquireLease(options('b'))
  expect(await lease.check()).toBe(true)
})

test.each(['src/**', 'src/', 'src/**/', './src'])(
  '%s claims the directory and everything below it',
  async (path) => {
    await using _ = await acquireLease(options('a', { paths: [inWork(path)] }))
    await expect(acquireLease(options('b', { paths: [inWork('src/a.ts')] }))).rejects.toMatchObject({
      code: 'LOCK_HELD',
    })
    await using other = await acquireLease(options('b', { paths: [inWork('docs/**')] }))
    expect(await other.check()).toBe(true)
  },
)

test.each(['src/*.ts', '**/a.ts', 'src/**/x', '*'])(
  'the pattern %s is refused, and claims nothing',
  async (path) => {
    await expect(acquireLease(options('a', { paths: [inWork(path)] }))).rejects.toMatchObject({
      code: 'NAME_INVALID',
      hint: expect.stringContaining('directory') as string,
    })
    expect(await store.register.keys()).toEqual([])
  },
)

test('join never takes back a lost lease', async () => {
  const lease = await acquireLease(options('a'))
  const claims = WorkspaceClaims.open(store, { workspace: join(world.tmp, 'work') })
  await claims.break({ session_id: 'a', fence: lease.fence }, { by: 'me', reason: null, at: 0 })
  const identity = identify(world.start('sleep', ['300']).pid)
  expect(identity && (await lease.join(identity))).toBe(false)
  expect(lease.signal.aborted).toBe(true)
  expect(await lease.check()).toBe(false)
})

test('the release of a lease whose record a user has deleted leaves the claim of its successor alone', async () => {
  await (await acquireLease(options('a'))).release()
  const lease = await acquireLease(options('a'))
  rmSync(join(world.tmp, 'locks', lease.workspaceKey), { recursive: true })
  const successor = await acquireLease(options('b'))
  expect(successor.epoch).toBeLessThan(lease.epoch)
  expect(await lease.release()).toBe(false)
  expect(await successor.check()).toBe(true)
})

test('the release of a lease that was broken says that nothing was left', async () => {
  const lease = await acquireLease(options('a'))
  const claims = WorkspaceClaims.open(store, { workspace: join(world.tmp, 'work') })
  const by = { by: 'root', reason: null, at: 1 }
  await claims.break({ session_id: 'a', fence: lease.fence }, by)
  expect(await lease.release()).toBe(false)
})

test('a release that fails can be repeated', async () => {
  let isBroken = false
  store = withRegister(({ swap }) => ({
    async swap(...args) {
      if (isBroken) throw Object.assign(new Error('no space'), { code: 'ENOSPC' })
      return await swap(...args)
    },
  }))
  const lease = await acquireLease(options('a'))
  isBroken = true
  await expect(lease.release()).rejects.toThrow('no space')
  isBroken = false
  expect(await lease.check()).toBe(true)
  expect(await lease.release()).toBe(true)
  expect(await lease.release()).toBe(false)
})

test('a record of many long paths is read again, however long it becomes', async () => {
  const deep = Array.from({ length: 14 }, () => 'p'.repeat(240)).join('/')
  const paths = (n: number) => Array.from({ length: 80 }, (_, i) => inWork(`${n}-${i}/${deep}`))
  const held: Lease[] = []
  for (let n = 0; n < 10; n++) held.push(await acquireLease(options(`s${n}`, { paths: paths(n) })))
  for (const lease of held) expect(await lease.check()).toBe(true)
  for (const lease of held) expect(await lease.release()).toBe(true)
})

const inWork = (path: string): string => join(world.tmp, 'work', path)

test('threads of one process, and copies of the library, exclude each other as processes do', async () => {
  const home = join(world.tmp, 'home')
  const thread = (sessionId: string) =>
    new Worker(join(import.meta.dirname, '../../test/fixtures/lock-thread.mjs'), {
      workerData: {
        workspace: join(world.tmp, 'work'),
        home,
        sessionId,
        count: 60,
        purpose: 'long '.repeat(1000),
      },
    })
  const threads = ['one', 'two', 'three'].map(thread)
  // A thread writes the rest of its activity log when it exits.
  const ended = Promise.all(threads.map((each) => once(each, 'exit')))
  const faults = await Promise.all(threads.map(async (each) => (await once(each, 'message'))[0] as string[]))
  await ended
  expect(faults.flat()).toEqual([])
})

test.each<[what: string, bad: object, code?: string]>([
  ['an invalid session id', { sessionId: '..' }, 'SESSION_ID_INVALID'],
  ['a session id that is not a string', { sessionId: 42 }, 'SESSION_ID_INVALID'],
  ['a TTL of 0', { ttlMs: 0 }],
  ['a TTL that is not a number', { ttlMs: Number.NaN }],
  ['a TTL of more than 30 days', { ttlMs: 31 * 24 * 3_600_000 }],
  ['a wait that is not a number', { wait: Number.NaN }],
  ['a wait in bare digits', { wait: '60' }],
  ['an unknown mode', { mode: 'Exclusive' }],
  ['a negative pid', { pid: -1 }],
  ['a fractional pid', { pid: 1.5 }],
  ['paths that are not a list', { paths: 'src' }],
  ['null as paths', { paths: null }],
  ['a path that is not a string', { paths: [1] }],
  ['too many paths', { paths: Array.from({ length: 1001 }, (_, i) => `${i}`) }],
  ['a purpose that is not a string', { purpose: 5 }],
  ['a purpose that is too long', { purpose: 'x'.repeat(10_001) }],
])('%s is refused, and nothing is claimed', async (_, bad, code = 'ARG_ERROR') => {
  const given = { ...options('a'), ...bad } as LeaseOptions
  await expect(acquireLease(given)).rejects.toMatchObject({ code })
  expect(await store.register.keys()).toEqual([])
})
