import { readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { World } from '../../test/support/world.ts'
import { fileRegister } from './file-register.ts'
import { acquireLease } from './lease.ts'
import { runSync } from '../base/process/run-generator.ts'
import type { Register } from './register.ts'
import { sweepKey } from './sweep-locks.ts'

let world: World
beforeEach(() => {
  world = new World()
})
afterEach(() => world[Symbol.asyncDispose]())

/** A machine whose boot and wall clock the test sets. */
class Machine {
  boot = 1
  wall = Date.now()
  readonly #files = fileRegister(join(world.tmp, 'locks')) as Register

  get register(): Register {
    const { boot, wall } = this
    const files = this.#files
    return {
      ...files,
      *now() {
        const now = yield* files.now()
        return { ...now, wall, clock: `${boot}`, era: `boot${boot}` }
      },
    }
  }

  reboot(): void {
    this.boot += 1
    this.wall += 40_000
  }

  /** Loses everything that was written, as a power cut does if nothing was synced. */
  loseLocks(): void {
    rmSync(join(world.tmp, 'locks'), { recursive: true, force: true })
    this.reboot()
  }

  async grant(): Promise<number> {
    const lease = await acquireLease({ sessionId: 'a', resource: 'deploy', register: this.register })
    const { fence } = lease
    await lease.release()
    return fence
  }
}

/** The fences in ascending order, without doubles and without numbers that cannot be counted with. */
const ascending = (fences: readonly number[]): number[] =>
  [...new Set(fences)].filter((fence) => Number.isSafeInteger(fence)).sort((a, b) => a - b)

test('fences grow although a power cut has lost the first grants of a key, and all that came after', async () => {
  const machine = new Machine()
  const fences = [await machine.grant(), await machine.grant()]
  machine.loseLocks()
  fences.push(await machine.grant(), await machine.grant())
  // A key that survives a reboot jumps ahead, and is lost at the next one.
  machine.reboot()
  fences.push(await machine.grant(), await machine.grant())
  machine.loseLocks()
  fences.push(await machine.grant())
  expect(fences).toEqual(ascending(fences))
})

test('fences grow although a sweep has removed an unused key, and the clock is set back after it', async () => {
  const machine = new Machine()
  const startedAt = machine.wall
  const fences = [await machine.grant()]
  machine.wall += 8 * 24 * 3_600_000
  const { register } = machine
  const [key = ''] = runSync(register, register.keys())
  expect(runSync(register, sweepKey(register, key, {}))).toBe(true)
  machine.wall = startedAt
  fences.push(await machine.grant())
  expect(fences).toEqual(ascending(fences))
})

test.each([-8.64e15, -0.5, 0, 0.25, 1234.75, 8.64e15, Number.POSITIVE_INFINITY, Number.NaN])(
  'fences grow under a wall clock that says %d, and epochs keep at most 15 digits',
  async (wall) => {
    const machine = new Machine()
    machine.wall = wall
    const fences = [await machine.grant(), await machine.grant()]
    machine.boot += 1
    fences.push(await machine.grant(), await machine.grant())
    expect(fences).toEqual(ascending(fences))
    const [key = ''] = readdirSync(join(world.tmp, 'locks'))
    const epochs = readdirSync(join(world.tmp, 'locks', key))
    expect(epochs.filter((name) => /^[1-9]\d{0,14}$/.test(name)).length).toBeGreaterThan(1)
  },
)
