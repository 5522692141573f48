import { expect } from 'vitest'
import type { Clock } from '../../src/base/process/clock.ts'
import type { SessionStore } from '../../src/session/store.ts'
import { allOf } from './all-of.ts'

/** What a clock may return that is no time at all. */
export const noTimes: [name: string, time: unknown][] = [
  ['NaN', Number.NaN],
  ['undefined', undefined],
  ['a word', 'now'],
]

/** Appends while the clock returns what is no time: the append must be refused, and nothing be written. */
export async function expectRefusedWith(
  time: unknown,
  storeWith: (clock: Clock) => SessionStore,
): Promise<void> {
  let now: unknown = 1_700_000_000_000
  const store = storeWith({ now: () => now as number, mono: () => 1 })
  const session = await store.create()
  now = time
  await expect(session.append({ type: 'note', data: 'refused' })).rejects.toMatchObject({ code: 'ARG_ERROR' })
  await expect(session.audit({ action: 'refused' })).rejects.toMatchObject({ code: 'ARG_ERROR' })
  now = 1_700_000_000_001
  await session.append({ type: 'note', data: 'taken' })
  await session.close()
  await using again = await store.resume(session.id)
  expect((await allOf(again.events())).map(({ data }) => data)).toEqual(['taken'])
  expect((await (await store.inspect(session.id)).health()).ok).toBe(true)
}
