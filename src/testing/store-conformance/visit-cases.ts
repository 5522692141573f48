import { deepEqual, equal, ok, rejects as fails } from 'node:assert/strict'
import type { SessionStore } from '../../session/index.ts'
import { rejects, type StoreCases, until, valuesOf } from '../conformance-case.ts'

const typesOf = async (store: SessionStore, id: string): Promise<string[]> =>
  await valuesOf((await store.inspect(id)).events(), 'type')

/** Short entries by scripts and hooks. */
export const visitCases: StoreCases = {
  async 'a visit to a free session adds no revision'(store, place) {
    const session = await store.create()
    await session.append({ type: 'note' })
    await session.close()
    const { manifest } = await store.inspect(session.id)
    const answer = await (
      await place.open()
    ).visit(session.id, async (visit) => {
      await visit.append({ type: 'visit', data: 1 })
      await visit.audit({ action: 'seen' })
      return 'answer'
    })
    equal(answer, 'answer')
    deepEqual(await typesOf(store, session.id), ['note', 'visit'])
    const read = await store.inspect(session.id)
    deepEqual(read.manifest, manifest)
    deepEqual(await valuesOf(read.audit(), 'action'), ['seen'])
    await using again = await store.resume(session.id)
    equal(again.lastSeq, 2)
    deepEqual(again.report.cut, [])
  },
  async 'concurrent visits with create make the session once'(store) {
    const visits = Array.from({ length: 8 }, (_, i) =>
      store.visit('hooked', (visit) => visit.append({ type: `v${i}` }), { create: { tool: 'hook' } }),
    )
    await Promise.all(visits)
    deepEqual(
      (await typesOf(store, 'hooked')).toSorted(),
      Array.from({ length: 8 }, (_, i) => `v${i}`),
    )
    equal((await store.list())[0]?.tool, 'hook')
  },
  async 'a visit to a session that a writer holds fails at once, and a later one finds the session as it was'(
    store,
    place,
  ) {
    const session = await store.create()
    await session.append({ type: 'note' })
    const other = await place.open()
    let isCalled = false
    // It would wait this long for another visitor.
    const visiting = other.visit(session.id, () => void (isCalled = true), { wait: '60m' })
    await rejects('SESSION_LOCKED', visiting)
    ok(!isCalled)
    await session.append({ type: 'more' })
    await session.close()
    await other.visit(session.id, (visit) => visit.append({ type: 'visit' }))
    deepEqual(await typesOf(store, session.id), ['note', 'more', 'visit'])
  },
  async 'a visit waits for another visitor, and no longer than it is told'(store, place) {
    const id = await closedSession(store)
    const other = await place.open()
    let waiting: Promise<unknown> | undefined
    await store.visit(id, async (visit) => {
      waiting = other.visit(id, (later) => later.append({ type: 'second' }), { wait: '60m' })
      await rejects(
        'SESSION_LOCKED',
        other.visit(id, () => {}, { wait: 0 }),
      )
      await visit.append({ type: 'first' })
    })
    await waiting
    deepEqual(await typesOf(store, id), ['first', 'second'])
  },
  async 'an act that a visitor has begun is uncertain for the next writer, and one that it has settled is done'(
    store,
    place,
  ) {
    const id = await closedSession(store)
    await (
      await place.open()
    ).visit(id, async (visit) => {
      await visit.audit({ action: 'pay', phase: 'intent', act: 'act_k', key: 'k' })
      await visit.audit({ action: 'pay', phase: 'intent', act: 'act_l', key: 'l' })
      await visit.audit({ action: 'pay', phase: 'outcome', act: 'act_l', ok: true })
    })
    await using session = await store.resume(id)
    deepEqual(await valuesOf(session.unsettled(), 'act'), ['act_k'])
    await rejects(
      'ACT_UNCERTAIN',
      session.act({ action: 'pay', key: 'k' }, () => 1),
    )
    equal(await session.act({ action: 'pay', key: 'l' }, () => 'paid twice'), undefined)
  },
  async 'a session that only visitors write to is resumed from their snapshot'(store) {
    await store.visit(
      'visited',
      async (visit) => {
        await visit.audit({ action: 'pay', phase: 'intent', act: 'act_1' })
        await Promise.all(Array.from({ length: 5000 }, (_, n) => visit.append({ type: 'note', data: n })))
      },
      { create: {} },
    )
    for (const type of ['more', 'most']) await store.visit('visited', (visit) => visit.append({ type }))
    await using session = await store.resume('visited')
    const { snapshot, replayed } = session.report
    deepEqual([snapshot, replayed, session.lastSeq], [5000, 2, 5002])
    deepEqual(await valuesOf(session.unsettled(), 'act'), ['act_1'])
  },
  async 'a session is followed from a record on, across writers and visitors, each event once'(store, place) {
    const session = await store.create()
    await session.append([{ type: 'a' }, { type: 'b' }])
    const other = await place.open()
    const types: string[] = []
    const following = take(other.follow(session.id, { from: 2 }), 4, types)
    await until('the first one is there', () => types.length === 1)
    await session.append({ type: 'c' })
    await session.close()
    await other.visit(session.id, (visit) => visit.append({ type: 'visit' }))
    await using again = await store.resume(session.id)
    await again.append({ type: 'd' })
    await following
    deepEqual(types, ['b', 'c', 'visit', 'd'])
    const stop = new AbortController()
    const some: string[] = []
    const stopped = take(other.follow(session.id, { type: 'c', signal: stop.signal }), 9, some)
    await until('the one of its type is there', () => some.length === 1)
    stop.abort()
    await stopped
    deepEqual(some, ['c'])
    await rejects('NOT_FOUND', take(other.follow('nobody'), 1, []))
  },
  async 'a visit returns the numbers of its records, and reads the session, with what it has written'(
    store,
    place,
  ) {
    const id = await closedSession(store)
    const other = await place.open()
    const answer = await other.visit(id, async (visit) => {
      const before = (await visit.inspect()).summary.records
      const { seq } = await visit.append({ type: 'count', data: before })
      const { seq: line } = await visit.audit({ action: 'counted' })
      return [seq, line, await valuesOf((await visit.inspect()).tail(1), 'data')]
    })
    deepEqual(answer, [1, 1, [0]])
  },
  async 'of many visits that read, fold and write, none overwrites what another has written'(store, place) {
    const id = await closedSession(store)
    const add = async (): Promise<void> => {
      const other = await place.open()
      await other.visit(
        id,
        async (visit) => {
          const [last] = await (await visit.inspect()).tail(1)
          await visit.append({ type: 'sum', data: Number(last?.data ?? 0) + 1 })
        },
        { wait: '60s' },
      )
    }
    await Promise.all(Array.from({ length: 6 }, add))
    equal((await (await store.inspect(id)).tail(1))[0]?.data, 6)
  },
  async 'a visit that fails gives the session back'(store) {
    const id = await closedSession(store)
    const failing = store.visit(id, () => {
      throw new Error('mine')
    })
    await fails(failing, { message: 'mine' })
    await using session = await store.resume(id)
    equal(session.lastSeq, 0)
  },
}

/** Events that are followed, until there are enough of them. */
async function take(events: AsyncIterable<{ type: string }>, count: number, types: string[]): Promise<void> {
  for await (const { type } of events) if (types.push(type) === count) return
}

async function closedSession(store: SessionStore): Promise<string> {
  const session = await store.create()
  await session.close()
  return session.id
}
