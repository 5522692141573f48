import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as after } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { LockWorld } from '../support/lock-world.ts'
import { orderOfGrants } from '../support/waiting-order.ts'
import { until } from '../support/world.ts'
import { fileRegister } from '../../src/lease/file-register.ts'
import type { Register } from '../../src/lease/register.ts'

/** The clock ticks, a hundredth of a second each, that a process has used. */
function cpuTicks(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8')
    .replace(/^.*\) /, '')
    .split(' ')
  return Number(fields[11]) + Number(fields[12])
}

test('a process that waits for two seconds uses next to no CPU time', async () => {
  await using world = new LockWorld()
  await world.lock(['acquire', '--session', 'holder'])
  const args = ['lock', 'acquire', '--session', 'waiter', '--wait', '1m']
  const waiter = world.startStint(args, { cwd: world.workspace })
  await until('it waits', () => readdirSync(join(world.home, 'locks')).includes(`.waiters-${world.key}`))
  await after(1000)
  const before = cpuTicks(waiter.pid)
  await after(2000)
  const used = cpuTicks(waiter.pid) - before
  console.log(`a waiter used ${used * 10} ms of CPU time in 2 s`)
  expect(used).toBeLessThan(20)
  await world.lock(['release', '--session', 'holder'])
  expect(await waiter.finished).toMatchObject({ code: 0 })
})

test('32 waiters are served in order, five times, beside a session that asks all the while', async () => {
  await using world = new LockWorld()
  const inOrder = Array.from({ length: 32 }, (_, i) => `waiter-${i}`)
  for (let round = 0; round < 5; round++) {
    const register = fileRegister(join(world.tmp, `locks-${round}`)) as Register
    expect(await orderOfGrants(register, 32)).toEqual(inOrder)
  }
})
