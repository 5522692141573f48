import { afterEach, beforeEach, expect, test } from 'vitest'
import { expectRefusedWith, noTimes } from '../../../test/support/odd-clocks.ts'
import { SessionWorld } from '../../../test/support/session-world.ts'
import type { Clock } from '../../base/process/clock.ts'
import type { SessionStore } from '../store.ts'
import { createManifest } from '../create-manifest.ts'
import { RegisteredSecrets } from '../entries.ts'
import { filesystemStore, FilesMedium } from './medium.ts'

let world: SessionWorld
beforeEach(() => {
  world = new SessionWorld()
})
afterEach(() => world[Symbol.asyncDispose]())

const storeWith = (clock: Clock): SessionStore => filesystemStore({ home: world.home, clock })

test.each(noTimes)('a record is refused, and not written, while the clock returns %s', async (_, time) => {
  await expect(expectRefusedWith(time, storeWith)).resolves.toBeUndefined()
})

test('a heartbeat has the time of this machine, by which others judge it, whatever the clock of the store', async () => {
  const early: Clock = { now: () => 0, mono: () => 0 }
  const driver = new FilesMedium({ home: world.home, clock: early })
  const manifest = createManifest(driver.id, { id: 'mine' }, new RegisteredSecrets(), 0)
  const held = await driver.create(manifest, { kind: 'writer', purpose: 'test' })
  const before = Date.now()
  await held.beat()
  expect((await driver.read('mine')).summary.holder?.beat).toBeGreaterThanOrEqual(before)
  await held.release()
})
