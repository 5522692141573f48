import { expect, test } from 'vitest'
import { type Identity, ownIdentity } from '../base/process/liveness.ts'
import { runSync } from '../base/process/run-generator.ts'
import { memoryRegister, type Register } from './register.ts'
import type { AcquireRequest } from './rules.ts'
import { sweepKey } from './sweep-locks.ts'
import { formatWaiter, parseWaiter, type Waiter } from './waiters.ts'
import { WorkspaceClaims } from './workspace-claims.ts'

/** Claims on a resource in memory, by a clock that the test sets. */
class Resource {
  ms = 0
  readonly register = memoryRegister(() => ({
    wall: 1e12 + this.ms,
    mono: this.ms,
    clock: 'test',
    era: 'e',
  })) as Register
  readonly claims = WorkspaceClaims.open(this.register, { resource: 'deploy' })

  /** Adds a waiter as another process would; it began to wait, and was touched, now. */
  waits(session_id: string, more: Partial<Waiter> = {}): number {
    const since = 1e12 + this.ms
    const waiter = { session_id, process: ownIdentity(), paths: ['**'], mode: 'exclusive' as const, since }
    const text = formatWaiter({ ...waiter, ...more })
    return this.register.waiters === undefined
      ? 0
      : runSync(this.register, this.register.waiters.add(this.claims.key, text))
  }

  /** Asks for a claim, without waiting: granted, or the session that is in the way. */
  asks(sessionId: string, more: Partial<AcquireRequest> = {}): string {
    const request = { sessionId, holder: ownIdentity(), paths: ['**'], ttlMs: 60_000, ...more }
    try {
      this.claims.acquireSync({ mode: 'exclusive', ...request })
      return 'granted'
    } catch (error) {
      const { holder } = (error as { options: { facts: { holder: { session_id: string } } } }).options.facts
      return holder.session_id
    }
  }

  releases(sessionId: string, paths?: readonly string[]): void {
    this.claims.releaseSync({ sessionId, paths })
  }
}

const dead: Identity = { ...ownIdentity(), pid: 0x7ffffffe, started: 1 }

test('a queue that cannot be read changes no answer: what is held is refused, what is free is granted', () => {
  const resource = new Resource()
  const fails = (): never => {
    throw new Error('no queue')
  }
  Object.assign(resource.register.waiters ?? {}, { numbers: fails, read: fails, add: fails })
  expect(resource.asks('holder')).toBe('granted')
  expect(resource.asks('other')).toBe('holder')
  expect(resource.claims.waitersSync(resource.claims.readSync())).toEqual([])
  resource.releases('holder')
  expect(resource.asks('other')).toBe('granted')
})

test('a released claim is kept for the first waiter for a second, and is then free for all', () => {
  const resource = new Resource()
  expect(resource.asks('holder')).toBe('granted')
  resource.waits('first')
  resource.waits('second')
  resource.ms = 60
  resource.releases('holder')
  expect(['other', 'second', 'holder'].map((session) => resource.asks(session))).toEqual(
    Array.from({ length: 3 }, () => 'first'),
  )
  resource.ms += 999
  expect(resource.asks('other')).toBe('first')
  resource.ms += 1
  expect(resource.asks('other')).toBe('granted')
})

test('the first waiter gets it at once', () => {
  const resource = new Resource()
  resource.asks('holder')
  resource.waits('first')
  resource.releases('holder')
  expect(resource.asks('first')).toBe('granted')
})

test('a waiter whose process is dead is skipped at once, and one that was silent for 15 s as well', () => {
  const resource = new Resource()
  resource.asks('holder')
  resource.waits('killed', { process: dead })
  resource.waits('suspended')
  resource.ms = 15_001
  const next = resource.waits('next')
  resource.releases('holder')
  expect(resource.asks('other')).toBe('next')
  if (resource.register.waiters !== undefined)
    runSync(resource.register, resource.register.waiters.remove(resource.claims.key, next))
  expect(resource.asks('other')).toBe('granted')
})

test('when a holder has died, the second begins with the first look, which removes its claim', () => {
  const resource = new Resource()
  expect(resource.asks('holder', { holder: dead })).toBe('granted')
  resource.ms = 10_000
  resource.waits('first')
  expect(resource.asks('other')).toBe('first')
  expect(resource.claims.readSync().record.claims).toEqual([])
  resource.ms += 999
  expect(resource.asks('other')).toBe('first')
  expect(resource.asks('first')).toBe('granted')
})

test('nothing is kept for a waiter that could not have it yet, or that asks for other paths', () => {
  const resource = new Resource()
  resource.asks('holder', { paths: ['a', 'b'] })
  resource.waits('whole')
  resource.waits('other', { paths: ['c'] })
  resource.releases('holder', ['b'])
  expect(resource.asks('asks-b', { paths: ['b'] })).toBe('granted')
  expect(resource.asks('asks-c', { paths: ['c/d'] })).toBe('other')
})

test('waiters for shared claims do not keep each other out', () => {
  const resource = new Resource()
  resource.asks('holder')
  resource.waits('reader', { mode: 'shared' })
  resource.releases('holder')
  expect(resource.asks('writer')).toBe('reader')
  expect(resource.asks('other-reader', { mode: 'shared' })).toBe('granted')
})

test('a session that holds a claim, or works for one that does, widens it past the waiters', () => {
  const resource = new Resource()
  resource.asks('holder', { paths: ['a'] })
  resource.waits('waiter', { paths: ['b'] })
  resource.asks('another', { paths: ['c'] })
  resource.releases('another')
  expect(resource.asks('stranger', { paths: ['b'] })).toBe('waiter')
  expect(resource.asks('helper', { paths: ['b'], parent: 'holder' })).toBe('granted')
  resource.releases('helper')
  expect(resource.asks('holder', { paths: ['b'] })).toBe('granted')
})

test('a refusal says how many wait, and for how long the first has', () => {
  const resource = new Resource()
  resource.asks('holder')
  resource.waits('first')
  resource.ms = 10_000
  resource.waits('second')
  const refusal = () =>
    resource.claims.acquireSync({
      sessionId: 'x',
      holder: null,
      paths: ['**'],
      mode: 'exclusive',
      ttlMs: 1000,
    })
  expect(refusal).toThrow('deploy is held by holder (2 sessions wait for it, the first for 10s)')
})

test('the sweep removes what dead waiters have left, and nothing of the living', () => {
  const resource = new Resource()
  const { register, claims } = resource
  resource.asks('holder')
  resource.waits('killed', { process: dead })
  const living = resource.waits('living')
  const elsewhere = resource.waits('elsewhere', { process: { ...dead, host: 'another' } })
  const numbers = () => register.waiters && runSync(register, register.waiters.numbers(claims.key))
  runSync(register, sweepKey(register, claims.key, {}))
  expect(numbers()).toEqual([living, elsewhere])
  resource.ms = 25 * 3_600_000
  runSync(register, sweepKey(register, claims.key, {}))
  expect(numbers()).toEqual([living])
})

test('a waiter is read as it was written; with more paths than fit, it waits for everything', () => {
  const waiter: Waiter = {
    session_id: 's',
    process: ownIdentity(),
    paths: ['src', 'docs'],
    mode: 'shared',
    since: 1,
    ancestors: ['p'],
    origin: { agent: 'Claude Code', terminal: 'pts/3' },
  }
  expect(parseWaiter(formatWaiter(waiter))).toEqual(waiter)
  const paths = Array.from({ length: 500 }, (_, i) => `src/${i}`)
  const { origin: _, ...rest } = waiter
  expect(parseWaiter(formatWaiter({ ...waiter, paths }))).toEqual({ ...rest, paths: ['**'] })
})

test.each([
  '',
  '{',
  '[]',
  '{"session_id":"s"}',
  '{"session_id":"s","process":{"pid":1},"since":1,"paths":[]}',
])('an invalid waiter counts for nothing: %s', (text) => {
  const resource = new Resource()
  const { register, claims } = resource
  resource.asks('holder')
  if (register.waiters !== undefined) runSync(register, register.waiters.add(claims.key, text))
  resource.releases('holder')
  expect(resource.asks('other')).toBe('granted')
})
