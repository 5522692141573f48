import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { dataOf, LockWorld } from '../../test/support/lock-world.ts'
import { orderOfGrants, waitingSessions } from '../../test/support/waiting-order.ts'
import { type Running, until, World } from '../../test/support/world.ts'
import { fileRegister } from './file-register.ts'
import { acquireLease, acquireLeaseSync } from './lease.ts'
import { memoryRegister, type Register, type WaiterQueue } from './register.ts'
import { WorkspaceClaims } from './workspace-claims.ts'

const inOrder = (waiters: number): string[] => Array.from({ length: waiters }, (_, i) => `waiter-${i}`)

test('waiters in one process are served in order, and a session that does not wait comes after them', async () => {
  await using world = new World()
  expect(await orderOfGrants(memoryRegister() as Register, 6)).toEqual(inOrder(6))
  const locks = join(world.tmp, 'locks')
  expect(await orderOfGrants(fileRegister(locks) as Register, 6)).toEqual(inOrder(6))
  expect(readdirSync(locks).filter((name) => name.startsWith('.'))).toEqual([])
})

test('without a look at the numbers, a session that does not wait gets in between', async () => {
  const register = memoryRegister() as Register
  const empty = memoryRegister().waiters as WaiterQueue
  const blind = { ...register, waiters: { ...(register.waiters as WaiterQueue), numbers: empty.numbers } }
  const claims = WorkspaceClaims.open(register, { resource: 'deploy' })
  const on = { register: blind, resource: 'deploy' }
  const hasty = { ...on, sessionId: 'hasty' }
  const holder = await acquireLease({ ...on, sessionId: 'holder' })
  const waiting = acquireLease({ ...on, sessionId: 'waiter', wait: '1m' })
  await until('it waits', async () => (await waitingSessions(claims)).length === 1)
  await holder.release()
  expect(() => acquireLeaseSync({ ...hasty, register })).toThrow('next in line')
  acquireLeaseSync(hasty).releaseSync()
  await (await waiting).release()
})

test('while the line does not move, a waiter reads the place of the first in it, and does not list the queue', async () => {
  const register = memoryRegister() as Register
  const queue = register.waiters as WaiterQueue
  const calls: string[] = []
  const noted =
    <Args extends unknown[], Result>(name: string, call: (...args: Args) => Result) =>
    (...args: Args): Result => {
      calls.push(name)
      return call(...args)
    }
  const waiters = { ...queue, numbers: noted('list', queue.numbers), read: noted('read', queue.read) }
  const on = { register, resource: 'deploy' }
  const holder = await acquireLease({ ...on, sessionId: 'holder' })
  const claims = WorkspaceClaims.open(register, { resource: 'deploy' })
  const waiting: Promise<boolean>[] = []
  const registers = [register, register, { ...register, waiters }]
  for (const [i, each] of registers.entries()) {
    const lease = acquireLease({ ...on, register: each, sessionId: `waiter-${i}`, wait: '1m' })
    waiting.push(lease.then((held) => held.release()))
    await until('it waits', async () => (await waitingSessions(claims)).length === i + 1)
  }
  calls.length = 0
  await until('it has looked several times', () => calls.length > 3)
  expect(calls.slice(0, 3)).toEqual(['read', 'read', 'read'])
  await holder.release()
  expect(await Promise.all(waiting)).toEqual([true, true, true])
})

/** Starts programs that wait for the workspace, each when the one before it waits; they log their numbers. */
async function startWaiters(world: LockWorld, count: number): Promise<Running[]> {
  const started: Running[] = []
  for (let i = 0; i < count; i++) {
    const line = `echo ${i} >> ${join(world.tmp, 'order')}`
    const args = ['run', '--lock', '--session', `waiter-${i}`, '--wait', '1m', '--', 'sh', '-c', line]
    started.push(world.startStint(args, { cwd: world.workspace }))
    await until('it waits', () => waitersIn(world).length === i + 1)
  }
  return started
}

const queueOf = (world: LockWorld): string => join(world.home, 'locks', `.waiters-${world.key}`)

const waitersIn = (world: LockWorld): string[] =>
  existsSync(queueOf(world)) ? readdirSync(queueOf(world)) : []

test('8 processes that wait get the workspace in the order in which they came', async () => {
  await using world = new LockWorld()
  await world.lock(['acquire', '--session', 'holder'])
  const waiters = await startWaiters(world, 8)
  await world.lock(['release', '--session', 'holder'])
  const ends = await Promise.all(waiters.map(({ finished }) => finished))
  expect(ends.map(({ code }) => code)).toEqual(ends.map(() => 0))
  expect(readFileSync(join(world.tmp, 'order'), 'utf8').split('\n')).toEqual([...'01234567', ''])
  expect(existsSync(queueOf(world))).toBe(false)
})

test('a waiter that was killed is skipped, and the waiter behind it removes what it left', async () => {
  await using world = new LockWorld()
  await world.lock(['acquire', '--session', 'holder'])
  const [killed, next] = await startWaiters(world, 2)
  killed?.child.kill('SIGKILL')
  await killed?.finished
  expect(dataOf(await world.lock(['status']))).toMatchObject({ waiters: [{ session_id: 'waiter-1' }] })
  await until('the second has removed the first', () => waitersIn(world).join() === '2')
  await world.lock(['release', '--session', 'holder'])
  expect((await next?.finished)?.code).toBe(0)
})

test('a waiter that is interrupted leaves no trace', async () => {
  await using world = new LockWorld()
  await world.lock(['acquire', '--session', 'holder'])
  const waiters = await startWaiters(world, 1)
  waiters[0]?.child.kill('SIGTERM')
  expect(await waiters[0]?.finished).toMatchObject({ code: 143 })
  expect(existsSync(queueOf(world))).toBe(false)
})

test('a waiter in a directory without git gets it when the one above is released, and writes nothing meanwhile', async () => {
  await using world = new World()
  const register = fileRegister(join(world.tmp, 'locks')) as Register
  const [outer, inner] = [world.tmp, join(world.tmp, 'locks')]
  const held = await acquireLease({ register, workspace: outer, sessionId: 'outer' })
  const claims = WorkspaceClaims.open(register, { workspace: inner })
  const waiting = ['one', 'two'].map((sessionId) =>
    acquireLease({ register, workspace: inner, sessionId, wait: '1m' }).then((lease) => lease.release()),
  )
  await until('both wait', async () => (await waitingSessions(claims)).length === 2)
  const { epoch } = await claims.read()
  for (let tries = 0; tries < 20; tries++) expect((await claims.read()).epoch).toBe(epoch)
  await held.release()
  expect(await Promise.all(waiting)).toEqual([true, true])
})
