import { expect } from 'vitest'
import type { Clock } from '../../src/base/process/clock.ts'
import type { SessionStore } from '../../src/session/store.ts'
import { allOf } from './all-of.ts'

/** Times that a program's own clock may return by mistake, and that a record can carry after rounding. */
export const oddTimes: [name: string, time: unknown][] = [
  ['a fraction', 1_700_000_000_000.75],
  ['a time before 1970', -86_400_000.5],
  ['a Date', new Date(1_700_000_000_000)],
  ['1e300', 1e300],
  ['minus infinity', Number.NEGATIVE_INFINITY],
]

/** What a clock may return that is no time at all. */
export const noTimes: [name: string, time: unknown][] = [
  ['NaN', Number.NaN],
  ['undefined', undefined],
  ['a word', 'now'],
]

/** Writes to a session of a store whose clock returns `time` at every look, and reads everything back. */
export async function expectReadableWith(
  time: unknown,
  storeWith: (clock: Clock) => SessionStore,
): Promise<void> {
  const store = storeWith({ now: () => time as number, mono: () => 1 })
  const session = await store.create()
  await session.append({ type: 'note', data: 1 })
  await session.slot('s', { version: '1', initial: 0 }).set(7)
  await session.act({ action: 'deploy', key: 'once' }, () => 'done')
  await session.turn()
  await session.close()
  await store.visit(session.id, (visit) => visit.append({ type: 'note', data: 2 }))
  const again = await store.resume(session.id)
  expect((await allOf(again.events())).map(({ data }) => data)).toEqual([1, 2])
  expect(again.slot('s', { version: '1', initial: 0 }).value).toBe(7)
  expect(again.turns).toBe(1)
  await again.close()
  const inspection = await store.inspect(session.id)
  expect((await inspection.health()).ok).toBe(true)
  expect(await store.list()).toMatchObject([{ id: session.id, state: 'closed', records: 4 }])
}

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
