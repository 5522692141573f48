import { existsSync, readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { World } from '../../../test/support/world.ts'
import { filesystemStore } from './medium.ts'
import { observeLock } from './lock-record.ts'
import { acquireLock } from './session-lock.ts'

test('a holder that closes its session while it is judged, and then ends, has not crashed', async () => {
  await using world = new World()
  const home = join(world.tmp, 'home')
  const session = await filesystemStore({ home }).create()
  await session.close()
  const root = join(home, 'sessions', session.id)
  const topEpoch = (): number => Math.max(...readdirSync(join(root, 'lock')).map(Number))
  const released = readFileSync(join(root, 'lock', String(topEpoch())))
  await acquireLock(root, session.id, { kind: 'writer', highestHoldEpoch: () => 1, now: 1 })
  expect((await observeLock(root)).standing).toBe('held')
  expect((await observeLock(root, () => 'dead')).standing).toBe('dead')
  let judged = 0
  const { standing } = await observeLock(root, () => {
    judged += 1
    writeFileSync(join(root, 'lock', String(topEpoch() + 1)), released)
    return 'dead'
  })
  expect([standing, judged]).toEqual(['released', 1])
})

test('a holder notices any later epoch, and is not misled by the names of staged files', async () => {
  await using world = new World()
  const home = join(world.tmp, 'home')
  const session = await filesystemStore({ home }).create()
  await session.close()
  const root = join(home, 'sessions', session.id)
  const { lock } = await acquireLock(root, session.id, { kind: 'writer', highestHoldEpoch: () => 1, now: 1 })
  writeFileSync(join(root, 'lock/.01JD0000000000000000000000'), 'staged')
  lock.assertOwned()
  await lock.beat(2)
  lock.assertOwned()
  await acquireLock(root, session.id, { kind: 'writer', highestHoldEpoch: () => 1, now: 1, force: true })
  expect(() => lock.assertOwned()).toThrow('was taken over by another process')
  // A writer that was suspended before its link gives a number that was used and removed to its own text.
  const top = Math.max(...readdirSync(join(root, 'lock')).map(Number).filter(Number.isInteger))
  for (let epoch = 1; epoch < top; epoch++) writeFileSync(join(root, 'lock', String(epoch)), 'late')
  expect(() => lock.assertOwned()).toThrow('was taken over by another process')
  await expect(lock.beat(3)).rejects.toMatchObject({ code: 'FENCED' })
  await expect(lock.release(undefined, 3)).rejects.toMatchObject({ code: 'FENCED' })
})

test('a session that is removed while another process acquires its lock does not come back', async () => {
  await using world = new World()
  const home = join(world.tmp, 'home')
  const session = await filesystemStore({ home }).create()
  await session.close()
  const root = join(home, 'sessions', session.id)
  // Asked for after the lock was read, and before it is written.
  const highestHoldEpoch = (): number => {
    renameSync(root, join(world.tmp, 'trash'))
    return 1
  }
  const request = { kind: 'writer', highestHoldEpoch, now: 1 } as const
  await expect(acquireLock(root, session.id, request)).rejects.toMatchObject({ code: 'ENOENT' })
  expect(existsSync(root)).toBe(false)
})
