import { join } from 'node:path'
import { expect, test } from 'vitest'
import { World } from '../../../test/support/world.ts'
import { filesystemStore } from './medium.ts'
import { acquireLock, observeLock } from './session-lock.ts'

test('a holder that closes its session while it is judged, and then ends, has not crashed', async () => {
  await using world = new World()
  const home = join(world.tmp, 'home')
  const session = await filesystemStore({ home }).create()
  await session.close()
  const root = join(home, 'sessions', session.id)
  const { lock, before } = acquireLock(root, session.id, {
    kind: 'writer',
    highestHoldEpoch: () => 1,
    now: 1,
  })
  expect(observeLock(root).standing).toBe('held')
  expect(observeLock(root, () => 'dead').standing).toBe('dead')
  const { standing } = observeLock(root, () => {
    lock.release(before?.ends, 1)
    return 'dead'
  })
  expect(standing).toBe('released')
})
