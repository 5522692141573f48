import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { until, World } from '../../test/support/world.ts'
import { identify } from '../primitives/liveness.ts'
import { fileRegister } from './file-register.ts'
import { acquireLease, acquireLeaseSync, type LeaseOptions } from './lease.ts'
import { memoryRegister } from './memory-register.ts'
import type { Register } from './register.ts'

let world: World
let register: Register
beforeEach(() => {
  world = new World()
  mkdirSync(join(world.tmp, 'work'))
  register = fileRegister(join(world.tmp, 'locks')) as Register
})
afterEach(() => world[Symbol.asyncDispose]())

const options = (sessionId: string, more: Partial<LeaseOptions> = {}): LeaseOptions => ({
  sessionId,
  workspace: join(world.tmp, 'work'),
  register,
  ...more,
})

test('one holds it, the other is refused, and gets it with a higher fence when it is released', async () => {
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
  const b = acquireLeaseSync(options('b'))
  expect(b.fence).toBeGreaterThan(a.fence)
  expect([b.checkSync(), b.refreshSync(), b.releaseSync(), b.releaseSync()]).toEqual([
    true,
    true,
    true,
    false,
  ])
})

test('it keeps itself fresh: long after its TTL it is still held', async () => {
  const lease = await acquireLease(options('a', { ttlMs: 150 }))
  const epoch = lease.epoch
  await until('it has refreshed itself six times, twice its time', () => lease.epoch >= epoch + 6)
  await expect(acquireLease(options('b'))).rejects.toMatchObject({ code: 'LOCK_HELD' })
  expect(lease.signal.aborted).toBe(false)
  await lease.release()
})

test('a lease that is lost says so: the signal aborts, refresh and check are false, and nothing is taken back', async () => {
  const lease = await acquireLease(options('a', { pid: null, ttlMs: 60_000 }))
  const { signal } = lease
  const thief = await acquireLease(options('a', { pid: null }))
  expect(await thief.release()).toBe(true)
  const next = await acquireLease(options('b'))
  await until('it is told', () => signal.aborted)
  expect(signal.reason).toMatchObject({ code: 'LOCK_LOST' })
  expect([await lease.refresh(), await lease.check(), await lease.release()]).toEqual([false, false, false])
  expect(await next.check()).toBe(true)
  await next.release()
})

test('waiting: it comes when the holder lets go, when the holder dies, and not when it is called off', async () => {
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
  const calledOff = acquireLease(options('e', { wait: 60_000, signal: stop.signal }))
  stop.abort(new Error('never mind'))
  await expect(calledOff).rejects.toThrow('never mind')
  await d.release()
})

test('waiting without giving way works too', async () => {
  await acquireLease(options('a', { pid: null, ttlMs: 50 })).then(({ signal }) => signal)
  const held = acquireLeaseSync(options('b', { wait: 60_000 }))
  expect(held.releaseSync()).toBe(true)
})

test('another process can live by it, too', async () => {
  const holder = world.start('sleep', ['300'])
  const identity = identify(holder.pid)
  const lease = await acquireLease(options('a'))
  expect(identity && (await lease.join(identity))).toBe(true)
  expect(await lease.release()).toBe(true)
  const next = await acquireLease(options('b'))
  await next.release()
})

test('a disposed lease is released, in memory as in files', async () => {
  register = memoryRegister() as Register
  {
    await using lease = await acquireLease(options('a'))
    await expect(acquireLease(options('b'))).rejects.toMatchObject({ code: 'LOCK_HELD' })
    expect(lease.expiresAt).toBeGreaterThan(Date.now())
  }
  await using lease = await acquireLease(options('b'))
  expect(await lease.check()).toBe(true)
})

test.each([{ sessionId: '..' }, { sessionId: 'a', ttlMs: 0 }, { sessionId: 'a', ttlMs: Number.NaN }])(
  'bad options %j are an ARG_ERROR',
  async (bad) => {
    await expect(acquireLease({ ...options('a'), ...bad })).rejects.toMatchObject({ code: 'ARG_ERROR' })
  },
)
