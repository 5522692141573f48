import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { until, World } from '../../test/support/world.ts'
import { sleep } from '../base/process/clock.ts'
import { fileStore } from './file-register.ts'
import { acquireLease, type Lease } from './lease.ts'
import type { LeaseOptions } from './lease.ts'
import type { LeaseStore } from './register.ts'
import { WorkspaceClaims } from './workspace-claims.ts'

let world: World
let store: LeaseStore
beforeEach(() => {
  world = new World()
  store = fileStore(world.tmp)
})
afterEach(() => world[Symbol.asyncDispose]())

const options = (sessionId: string, more: Partial<LeaseOptions> = {}): LeaseOptions => ({
  sessionId,
  resource: 'deploy:prod',
  store,
  pid: null,
  ...more,
})

/** Keeps this process from refreshing anything until a claim of 50 ms has expired. */
const suspend = (): void => sleep(200)

/** Waits until the lease notices its loss, and returns the error. */
async function lossOf(lease: Lease): Promise<unknown> {
  await until('the lease is lost', async () => !(await lease.check()))
  return lease.signal.reason
}

test('a lease that a user has broken says who broke it, and why', async () => {
  const lease = await acquireLease(options('a'))
  const claims = WorkspaceClaims.open(store, { resource: 'deploy:prod' })
  const by = { by: 'root', reason: 'it hangs', at: Date.now() }
  await claims.break({ session_id: 'a', fence: lease.fence }, by)
  expect(await lossOf(lease)).toMatchObject({
    code: 'LOCK_LOST',
    message: 'the lease on deploy:prod was lost: it was broken by root (it hangs)',
    cause: { kind: 'broken', by: 'root', reason: 'it hangs' },
  })
})

test('a lease that another session has taken over, because it was not refreshed, says which session', async () => {
  const lease = await acquireLease(options('a', { ttlMs: 50 }))
  suspend()
  const next = await acquireLease(options('b'))
  expect(await lossOf(lease)).toMatchObject({ cause: { kind: 'taken-over', by: 'b' } })
  await next.release()
})

test('a lease that another process of its session has released says so', async () => {
  const lease = await acquireLease(options('a'))
  await (await acquireLease(options('a'))).release()
  expect(await lossOf(lease)).toMatchObject({ cause: { kind: 'released' } })
})

test('a lease whose record was removed says so', async () => {
  const lease = await acquireLease(options('a'))
  rmSync(join(world.tmp, 'locks'), { recursive: true })
  expect(await lossOf(lease)).toMatchObject({ cause: { kind: 'removed' } })
})

test('a lease that was not refreshed in time, as after a suspend, says so', async () => {
  const lease = await acquireLease(options('a', { ttlMs: 50 }))
  suspend()
  expect(await lease.check()).toBe(false)
  expect(lease.signal.reason).toMatchObject({ cause: { kind: 'expired' } })
})
