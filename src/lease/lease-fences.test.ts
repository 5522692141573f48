import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { World } from '../../test/support/world.ts'
import { fileStore, nodeFiles } from './file-register.ts'
import { acquireLease } from './lease.ts'
import type { LeaseStore, Now } from './register.ts'

let world: World
beforeEach(() => {
  world = new World()
})
afterEach(() => world[Symbol.asyncDispose]())

/** A machine whose boot and wall clock the test sets. */
class Machine {
  boot = 1
  wall = Date.now()

  get store(): LeaseStore {
    const { boot, wall } = this
    const now = (): Now => ({ ...(nodeFiles.now() as Now), wall, clock: `${boot}` })
    return fileStore(world.tmp, { ...nodeFiles, now })
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
    const lease = await acquireLease({ sessionId: 'a', resource: 'deploy', store: this.store })
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

test('fences grow although the clock is set back', async () => {
  const machine = new Machine()
  const fences = [await machine.grant()]
  machine.wall -= 8 * 24 * 3_600_000
  fences.push(await machine.grant(), await machine.grant())
  expect(fences).toEqual(ascending(fences))
})

test.each([-8.64e15, -0.5, 0, 0.25, 1234.75, 8.64e15, Number.POSITIVE_INFINITY, Number.NaN])(
  'fences grow under a wall clock that says %d',
  async (wall) => {
    const machine = new Machine()
    machine.wall = wall
    const fences = [await machine.grant(), await machine.grant()]
    machine.boot += 1
    fences.push(await machine.grant(), await machine.grant())
    expect(fences).toEqual(ascending(fences))
  },
)
