import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { World } from '../../test/support/world.ts'
import { systemClock } from '../base/process/clock.ts'
import { ownIdentity } from '../base/process/liveness.ts'
import { acquireLeaseSync } from './lease.ts'
import { memoryRegister, type Register } from './register.ts'
import { WorkspaceClaims } from './workspace-claims.ts'

const now = () => ({ wall: 1e12, mono: 0, clock: 'c', era: 'e' })

/** Runs the steps of two registers in a given order, one at a time. */
class Schedule {
  readonly #choices: readonly number[]
  readonly #waiting: (() => void)[] = []
  /** Of each point where both were about to make a step: which one did. */
  readonly made: number[] = []

  constructor(choices: readonly number[]) {
    this.#choices = choices
  }

  /** A register that makes its steps when it is its turn; looking at the clock is none. */
  controlled(register: Register, actor: number): Register {
    return {
      ...register,
      perform: async (step) => {
        if (step !== now) await new Promise<void>((resolve) => (this.#waiting[actor] = resolve))
        return await register.perform(step)
      },
    }
  }

  /** Lets the actors make steps until all are done. */
  async run(actors: readonly Promise<unknown>[]): Promise<void> {
    let running = actors.length
    for (const actor of actors) void actor.finally(() => (running -= 1))
    for (;;) {
      await new Promise((resolve) => setImmediate(resolve))
      if (running === 0) return
      const ready = [0, 1].filter((actor) => this.#waiting[actor] !== undefined)
      const choice = ready.length < 2 ? (ready[0] ?? 0) : (this.#choices[this.made.length] ?? 0)
      if (ready.length === 2) this.made.push(choice)
      const go = this.#waiting[choice]
      delete this.#waiting[choice]
      go?.()
    }
  }
}

/** Claims a directory and one in it at the same moment, in every order of steps; the numbers of grants. */
async function grantsInAllOrders(world: World, looksFirst: boolean): Promise<Set<number>> {
  const places = ['outer', 'outer/inner'].map((name) => join(world.tmp, name))
  for (const place of places) mkdirSync(place, { recursive: true })
  const found = new Set<number>()
  let choices: number[] | undefined = []
  let runs = 0
  while (choices !== undefined) {
    const schedule: Schedule = new Schedule(choices)
    // No party waits, so the look for waiters would only add to the number of orders.
    const { waiters: _, ...memory } = memoryRegister(now) as Register
    const before = memoryRegister() as Register
    const register: Register = looksFirst ? { ...memory, keys: () => before.keys() } : memory
    let granted = 0
    // Both have a record already, which saves a step.
    for (const workspace of places) acquireLeaseSync({ sessionId: 's', workspace, register }).releaseSync()
    const actors = places.map(async (workspace, actor) => {
      const claims = WorkspaceClaims.open(schedule.controlled(register, actor), { workspace })
      const request = { sessionId: `s${actor}`, holder: ownIdentity(), paths: ['**'], ttlMs: 300_000 }
      await claims.acquire({ ...request, mode: 'exclusive' }).then(
        () => (granted += 1),
        () => {},
      )
    })
    await schedule.run(actors)
    found.add(granted)
    runs += 1
    const last: number = schedule.made.lastIndexOf(0)
    choices = last < 0 ? undefined : [...schedule.made.slice(0, last), 1]
  }
  console.log(`a directory and one in it: ${runs} orders`)
  return found
}

test('of a directory without git and one in it, claimed at the same moment, at most one is granted', async () => {
  await using world = new World()
  const { mono } = systemClock
  let time = 0
  // No record counts as just written, so that each run makes the same steps.
  systemClock.mono = () => (time += 1000)
  try {
    expect([...(await grantsInAllOrders(world, false))].sort()).toEqual([0, 1])
    // Sessions that had looked before they wrote would both be granted.
    expect(await grantsInAllOrders(world, true)).toContain(2)
  } finally {
    systemClock.mono = mono
  }
})
