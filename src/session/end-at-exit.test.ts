import { expect, test } from 'vitest'
import { endSession } from '../../test/support/ended-session.ts'
import { memoryStore } from '../../examples/driver/memory-store.ts'

test.each([
  ['at its end', 0],
  ['by process.exit', 5],
  ['by an uncaught error', 0],
  ['while it appends', 5],
  ['while it appends again and again', 5],
  ['while it takes a snapshot and closes', 5],
  ['in a visit', 0],
])('a program that ends %s leaves its session closed and whole', async (how, syncMs) => {
  await expect(endSession(how, syncMs, how.includes('again') ? 100 : 3)).resolves.toBeUndefined()
})

test('a process listens for its end only while it holds a session', async () => {
  const listeners = (): number => process.listenerCount('exit') + process.listenerCount('beforeExit')
  const before = listeners()
  const store = memoryStore()
  const sessions = await Promise.all([store.create({ id: 'a' }), store.create({ id: 'b' })])
  expect(listeners()).toBe(before + 2)
  await store.unlock('a')
  await Promise.allSettled(sessions.map((session) => session.close()))
  await store.visit('b', (visit) => visit.append({ type: 'note' }))
  expect(listeners()).toBe(before)
})
