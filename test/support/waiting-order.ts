import { acquireLease } from '../../src/lease/lease.ts'
import type { Register } from '../../src/lease/register.ts'
import { WorkspaceClaims } from '../../src/lease/workspace-claims.ts'
import { until } from './world.ts'

/** The sessions that wait for a claim, in order. */
export async function waitingSessions(claims: WorkspaceClaims): Promise<string[]> {
  return (await claims.waiters(await claims.read())).map(({ session_id }) => session_id)
}

/**
 * Lets sessions wait for a lease, each after the other, then releases it; returns the order of the grants. A
 * session that does not wait asks all the while, and is in the order if it is granted.
 */
export async function orderOfGrants(register: Register, waiters: number): Promise<string[]> {
  const on = { register, resource: 'deploy' }
  const claims = WorkspaceClaims.open(register, on)
  const holder = await acquireLease({ ...on, sessionId: 'holder' })
  const order: string[] = []
  const waiting: Promise<void>[] = []
  for (let i = 0; i < waiters; i++) {
    const sessionId = `waiter-${i}`
    const granted = acquireLease({ ...on, sessionId, wait: '1m' }).then(async (lease) => {
      order.push(sessionId)
      await lease.release()
    })
    waiting.push(granted)
    await until('it waits', async () => (await waitingSessions(claims)).length === i + 1)
  }
  let isOver = false
  const hasty = until('the waiters were served', async () => {
    await acquireLease({ ...on, sessionId: 'hasty' }).then(
      async (lease) => {
        if (!isOver) order.push('hasty')
        await lease.release()
      },
      () => {},
    )
    return isOver
  })
  await holder.release()
  await Promise.all(waiting).finally(() => (isOver = true))
  await hasty
  return order
}
