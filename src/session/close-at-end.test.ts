import { expect, test } from 'vitest'
import { endSession } from '../../test/support/ended-session.ts'
import type { SessionState } from './store.ts'
import { memoryStore } from '../../examples/driver/memory-store.ts'

test.each<[string, SessionState[], number]>([
  ['at its end', ['closed'], 0],
  ['by process.exit', ['crashed'], 5],
  ['by an uncaught error', ['crashed'], 0],
  ['while it appends', ['crashed'], 5],
  ['while it appends again and again', ['crashed'], 5],
  ['while it takes a snapshot and closes', ['crashed', 'closed'], 5],
  ['in a visit', ['crashed'], 0],
])(
  'a program that ends %s leaves its session %j, with what was acknowledged',
  async (how, states, syncMs) => {
    await expect(endSession(how, states, syncMs, how.includes('again') ? 100 : 3)).resolves.toBeUndefined()
  },
)

test('a process listens for its end only while it holds a session', async () => {
  const listeners = (): number => process.listenerCount('beforeExit')
  const before = listeners()
  const store = memoryStore()
  const sessions = await Promise.all([store.create({ id: 'a' }), store.create({ id: 'b' })])
  expect(listeners()).toBe(before + 1)
  await store.unlock('a')
  await Promise.allSettled(sessions.map((session) => session.close()))
  await store.visit('b', (visit) => visit.append({ type: 'note' }))
  expect(listeners()).toBe(before)
})
