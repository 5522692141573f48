import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { dataOf, LockWorld } from '../../test/support/lock-world.ts'
import { until, World } from '../../test/support/world.ts'
import { systemClock } from '../base/process/clock.ts'
import { type Identity, ownIdentity } from '../base/process/liveness.ts'
import { fileStore } from './file-register.ts'
import { acquireLease } from './lease.ts'
import { type LeaseStore, memoryStore } from './register.ts'
import type { AcquireRequest } from './rules.ts'
import { sweepKey } from './sweep-locks.ts'
import type { Waiter } from './waiting.ts'
import { WorkspaceClaims } from './workspace-claims.ts'

const dead: Identity = { ...ownIdentity(), pid: 0x7ffffffe, started: 1 }

const request = (sessionId: string, more: Partial<AcquireRequest> = {}): AcquireRequest => ({
  sessionId,
  holder: ownIdentity(),
  paths: ['**'],
  mode: 'exclusive',
  forMs: 60_000,
  ...more,
})

/** Claims on a resource in memory. */
class Resource {
  readonly store: LeaseStore
  readonly claims: WorkspaceClaims

  constructor(store: LeaseStore = memoryStore()) {
    this.store = store
    this.claims = WorkspaceClaims.open(store, { resource: 'deploy' })
  }

  /** Adds a waiter as another process would. */
  waits(session_id: string, more: Partial<Waiter> = {}): Promise<string> {
    const now = Date.now()
    const waiter: Waiter = {
      session_id,
      process: ownIdentity(),
      paths: ['**'],
      mode: 'exclusive',
      since: now,
      until: now + 60_000,
      ...more,
    }
    return this.store.waiters.add(this.claims.key, JSON.stringify(waiter))
  }

  async waiting(): Promise<string[]> {
    return (await this.claims.waiters(await this.claims.read())).map(({ session_id }) => session_id)
  }

  async asks(sessionId: string, more: Partial<AcquireRequest> = {}): Promise<boolean> {
    return (await this.claims.tryAcquire(request(sessionId, more))).answer.granted
  }
}

test.each<[string, (world: World) => LeaseStore]>([
  ['memory', () => memoryStore()],
  ['files', (world) => fileStore(world.tmp)],
])('waiters in %s are seen, the one that has waited longest first, and leave nothing', async (_, open) => {
  await using world = new World()
  const resource = new Resource(open(world))
  const on = { store: resource.store, resource: 'deploy' }
  const holder = await acquireLease({ ...on, sessionId: 'holder' })
  const waiting: Promise<boolean>[] = []
  for (const [i, sessionId] of ['one', 'two', 'three'].entries()) {
    waiting.push(acquireLease({ ...on, sessionId, wait: '1m' }).then((lease) => lease.release()))
    await until('it waits', async () => (await resource.waiting()).length === i + 1)
  }
  expect(await resource.waiting()).toEqual(['one', 'two', 'three'])
  await expect(acquireLease({ ...on, sessionId: 'other' })).rejects.toThrow(
    /deploy is held by holder.* \(3 sessions wait for it, the first for \d+s\)/,
  )
  await holder.release()
  expect(await Promise.all(waiting)).toEqual([true, true, true])
  expect(await resource.waiting()).toEqual([])
  const left = join(world.tmp, 'waiting', resource.claims.key)
  if (existsSync(left)) expect(readdirSync(left)).toEqual([])
})

test('a waiter that gives up, or that is interrupted, is not seen any more', async () => {
  const resource = new Resource()
  const on = { store: resource.store, resource: 'deploy' }
  const holder = await acquireLease({ ...on, sessionId: 'holder' })
  await expect(acquireLease({ ...on, sessionId: 'brief', wait: 30 })).rejects.toThrow('waited 30ms')
  const stop = new AbortController()
  const aborted = acquireLease({ ...on, sessionId: 'aborted', wait: '1m', signal: stop.signal })
  await until('it waits', async () => (await resource.waiting()).length === 1)
  stop.abort(new Error('never mind'))
  await expect(aborted).rejects.toThrow('never mind')
  expect(await resource.waiting()).toEqual([])
  await holder.release()
})

test('the waiters of dead processes are removed; one that cannot be seen counts until its wait ends', async () => {
  const resource = new Resource()
  await resource.waits('killed', { process: dead })
  await resource.waits('elsewhere', { process: { ...dead, host: 'another' } })
  await resource.waits('elsewhere, long ago', {
    process: { ...dead, host: 'another' },
    until: Date.now() - 1,
  })
  await resource.waits('living', { until: 0 })
  expect(await resource.waiting()).toEqual(['elsewhere', 'living'])
  expect(await resource.store.waiters.list(resource.claims.key)).toHaveLength(2)
})

test('the sweep removes what dead waiters have left, and nothing of the living', async () => {
  const resource = new Resource()
  await resource.asks('holder')
  await resource.waits('killed', { process: dead })
  await resource.waits('living')
  await sweepKey(resource.store, resource.claims.key)
  expect(await resource.store.waiters.list(resource.claims.key)).toMatchObject([
    { text: expect.stringContaining('living') as string },
  ])
})

test.each(['{', '[]', '{"session_id":"s"}', '{"session_id":"s","process":{"pid":1},"since":1,"paths":[]}'])(
  'an invalid waiter counts for nothing, and is removed: %s',
  async (text) => {
    const resource = new Resource()
    await resource.store.waiters.add(resource.claims.key, text)
    expect(await resource.waiting()).toEqual([])
    expect(await resource.store.waiters.list(resource.claims.key)).toEqual([])
  },
)

test('the file of a waiter that is just being written is left alone', async () => {
  await using world = new World()
  const { store, claims } = new Resource(fileStore(world.tmp))
  const directory = join(world.tmp, 'waiting', claims.key)
  mkdirSync(directory, { recursive: true })
  writeFileSync(join(directory, '01ARZ3NDEKTSV4RRFFQ69G5FAV'), '')
  expect(await store.waiters.list(claims.key)).toEqual([])
  expect(readdirSync(directory)).toHaveLength(1)
})

test('waiters that cannot be kept change no answer: what is held is waited for, what is free is granted', async () => {
  const memory = memoryStore()
  const fails = async (): Promise<never> => {
    throw Object.assign(new Error('no space'), { code: 'ENOSPC' })
  }
  const store = { ...memory, waiters: { ...memory.waiters, add: fails, remove: fails } }
  const on = { store, resource: 'deploy' }
  const holder = await acquireLease({ ...on, sessionId: 'holder' })
  const waiting = acquireLease({ ...on, sessionId: 'waiter', wait: '1m' })
  await holder.release()
  expect(await (await waiting).release()).toBe(true)
})

// The one courtesy: the last holder lets a waiter go first, for a second at most.

test('a loop of short turns does not starve a waiter', async () => {
  const resource = new Resource()
  const { claims } = resource
  await resource.asks('loop')
  const waiter = claims.acquire(request('waiter'), { waitMs: 60_000 })
  await until('it waits', async () => (await resource.waiting()).length === 1)
  let turns = 0
  const loop = (async () => {
    for (;;) {
      await claims.endTurn({ sessionId: 'loop', hold: 'turn' })
      if (!(await resource.asks('loop'))) return
      turns += 1
    }
  })()
  expect((await waiter).answer.claim.session_id).toBe('waiter')
  await loop
  // Without the courtesy, the loop goes on for hundreds of turns before the waiter looks.
  expect(turns).toBe(0)
})

/** A party that waits for changes watches the key. */
const watched = (store: LeaseStore, isWatchable: boolean) => {
  const watches: (() => void)[] = []
  return {
    store: {
      ...store,
      register: {
        ...store.register,
        watch(key: string, onChange: () => void) {
          if (!isWatchable) throw Object.assign(new Error('ENOSPC'), { code: 'ENOSPC' })
          watches.push(onChange)
          return store.register.watch(key, onChange)
        },
      },
    },
    watches,
  }
}

test('the last holder waits for a second, and not for a waiter that has gone or wants other paths', async () => {
  const { store, watches } = watched(memoryStore(), true)
  const resource = new Resource(store)
  const turn = async (path: string): Promise<void> => {
    expect(await resource.asks('a', { paths: [path] })).toBe(true)
    await resource.claims.release({ sessionId: 'a' })
  }
  await turn('src')
  await resource.waits('gone', { process: dead })
  await resource.waits('elsewhere', { paths: ['docs'] })
  await turn('src')
  expect(watches).toHaveLength(0)
  await resource.waits('suspended', { paths: ['src/api'] })
  const startedAt = systemClock.mono()
  await turn('src')
  expect(watches).toHaveLength(1)
  expect(systemClock.mono() - startedAt).toBeGreaterThanOrEqual(1000)
})

test('an abort ends the courtesy of the last holder, and a shorter wait of its own bounds it', async () => {
  const { store, watches } = watched(memoryStore(), true)
  const resource = new Resource(store)
  await resource.asks('a')
  await resource.claims.release({ sessionId: 'a' })
  await resource.waits('suspended')
  const stop = new AbortController()
  const acquiring = acquireLease({ store, resource: 'deploy', sessionId: 'a', signal: stop.signal })
  await until('it lets the waiter go first', () => watches.length === 1)
  stop.abort(new Error('stopped'))
  await expect(acquiring).rejects.toThrow('stopped')
  const { answer } = await resource.claims.tryAcquire(request('a'), { waitMs: 1 })
  expect(answer.granted).toBe(true)
  expect(watches).toHaveLength(1)
})

test('only the last holder waits, and only for a new claim', async () => {
  const { store, watches } = watched(memoryStore(), true)
  const resource = new Resource(store)
  await resource.asks('a')
  await resource.waits('suspended')
  expect(await resource.asks('a')).toBe(true)
  await resource.claims.release({ sessionId: 'a' })
  expect(await resource.asks('another')).toBe(true)
  await resource.claims.release({ sessionId: 'another' })
  expect(await resource.asks('a')).toBe(true)
  expect(watches).toHaveLength(0)
})

// How a waiter learns that a claim is free.

test.each([
  ['by its watcher', true],
  ['by looking now and then, if the system has no watchers left', false],
])('a waiter is woken %s', async (_how, isWatchable) => {
  const { store, watches } = watched(memoryStore(), isWatchable)
  const on = { store, resource: 'deploy' }
  const holder = await acquireLease({ ...on, sessionId: 'holder' })
  const waiting = acquireLease({ ...on, sessionId: 'waiter', wait: '1m' })
  if (isWatchable) await until('it watches', () => watches.length === 1)
  await holder.release()
  await using lease = await waiting
  expect(lease.fence).toBeGreaterThan(holder.fence)
})

test('a change that comes while a waiter reads is not missed', async () => {
  const memory = memoryStore()
  const onChanges = new Set<() => void>()
  let reads = 0
  let onRead: (() => Promise<unknown>) | undefined
  const register = {
    ...memory.register,
    async read(key: string) {
      const entry = await memory.register.read(key)
      reads += 1
      await onRead?.()
      return entry
    },
    watch(_key: string, onChange: () => void) {
      onChanges.add(onChange)
      return () => void onChanges.delete(onChange)
    },
  }
  const holder = await acquireLease({ store: memory, resource: 'deploy', sessionId: 'holder' })
  const store = { ...memory, register }
  const waiting = acquireLease({ store, resource: 'deploy', sessionId: 'waiter', wait: '1m' })
  await until('it watches', () => onChanges.size === 1)
  onRead = async () => {
    onRead = undefined
    await holder.release()
    for (const onChange of onChanges) onChange()
    reads = 0
  }
  const lease = await waiting
  // The next look follows at once, and is the one that finds it free.
  expect(reads).toBe(1)
  await lease.release()
})

test('processes that wait get the workspace one after the other, and leave no trace', async () => {
  await using world = new LockWorld()
  await world.lock(['acquire', '--session', 'holder'])
  const waiters = Array.from({ length: 4 }, (_, i) =>
    world.startStint(['run', '--lock', '--session', `w-${i}`, '--wait', '1m', '--', 'true'], {
      cwd: world.workspace,
    }),
  )
  const queue = join(world.home, 'waiting', world.key)
  await until('all wait', () => existsSync(queue) && readdirSync(queue).length === 4)
  await world.lock(['release', '--session', 'holder'])
  const ends = await Promise.all(waiters.map(({ finished }) => finished))
  expect(ends.map(({ code }) => code)).toEqual([0, 0, 0, 0])
  expect(readdirSync(queue)).toEqual([])
})

test('a waiter that was killed is not seen, and one that was interrupted leaves no trace', async () => {
  await using world = new LockWorld()
  await world.lock(['acquire', '--session', 'holder'])
  const start = (session: string) =>
    world.startStint(['lock', 'acquire', '--session', session, '--wait', '1m'], { cwd: world.workspace })
  const [killed, stopped] = [start('killed'), start('stopped')]
  const queue = join(world.home, 'waiting', world.key)
  await until('both wait', () => existsSync(queue) && readdirSync(queue).length === 2)
  killed.child.kill('SIGKILL')
  stopped.child.kill('SIGTERM')
  await Promise.all([killed.finished, stopped.finished])
  expect(readdirSync(queue)).toHaveLength(1)
  expect(dataOf(await world.lock(['status']))).toMatchObject({ waiters: [] })
  expect(readdirSync(queue)).toEqual([])
})
