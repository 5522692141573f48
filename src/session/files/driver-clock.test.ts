import { afterEach, beforeEach, expect, test } from 'vitest'
import { expectRefusedWith, noTimes } from '../../../test/support/odd-clocks.ts'
import { SessionWorld } from '../../../test/support/session-world.ts'
import type { Clock } from '../../base/process/clock.ts'
import type { SessionStore } from '../store.ts'
import { filesystemStore } from './driver.ts'

let world: SessionWorld
beforeEach(() => {
  world = new SessionWorld()
})
afterEach(() => world[Symbol.asyncDispose]())

const storeWith = (clock: Clock): SessionStore => filesystemStore({ home: world.home, clock })

test.each(noTimes)('a record is refused, and not written, while the clock returns %s', async (_, time) => {
  await expect(expectRefusedWith(time, storeWith)).resolves.toBeUndefined()
})
