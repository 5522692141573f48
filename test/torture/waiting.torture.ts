import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as after } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { LockWorld } from '../support/lock-world.ts'
import { until } from '../support/world.ts'

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
  const waiting = join(world.home, 'waiting', world.key)
  await until('it waits', () => existsSync(waiting) && readdirSync(waiting).length === 1)
  await after(1000)
  const before = cpuTicks(waiter.pid)
  await after(2000)
  const used = cpuTicks(waiter.pid) - before
  console.log(`a waiter used ${used * 10} ms of CPU time in 2 s`)
  expect(used).toBeLessThan(20)
  await world.lock(['release', '--session', 'holder'])
  expect(await waiter.finished).toMatchObject({ code: 0 })
})
