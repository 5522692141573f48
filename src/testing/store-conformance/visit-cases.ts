import { deepEqual, equal, ok, rejects as fails } from 'node:assert/strict'
import type { SessionStore } from '../../session/index.ts'
import { collect, rejects, type StoreCase, until } from '../conformance-case.ts'

const typesOf = async (store: SessionStore, id: string): Promise<string[]> =>
  (await collect((await store.inspect(id)).events())).map(({ type }) => type)

/** Short entries by scripts and hooks. */
export const visitCases: StoreCase[] = [
  [
    'a visit to a free session writes directly, and adds no revision',
    async (store, place) => {
      const session = await store.create()
      await session.append({ type: 'note' })
      await session.close()
      const { manifest } = await store.inspect(session.id)
      const answer = await (
        await place.open()
      ).visit(session.id, async (visit) => {
        ok(visit.direct)
        await visit.append({ type: 'visit', data: 1 })
        await visit.audit({ action: 'seen' })
        return 'answer'
      })
      equal(answer, 'answer')
      deepEqual(await typesOf(store, session.id), ['note', 'visit'])
      const read = await store.inspect(session.id)
      deepEqual(read.manifest, manifest)
      deepEqual(
        (await collect(read.audit())).map(({ action }) => action),
        ['seen'],
      )
      await using again = await store.resume(session.id)
      equal(again.lastSeq, 2)
      deepEqual(again.report.cut, [])
    },
  ],
  [
    'concurrent visits with create make the session once',
    async (store) => {
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
  ],
  [
    'entries that a visitor leaves are taken in once, with the next turn of the holder',
    async (store, place) => {
      const other = await place.open()
      const session = await store.create()
      await session.append({ type: 'note' })
      await other.visit(session.id, async (visit) => {
        ok(!visit.direct)
        await visit.append({ type: 'left', data: { a: 1 } })
        await visit.audit({ action: 'left' })
      })
      await session.turn()
      deepEqual(await typesOf(store, session.id), ['note', 'left'])
      await session.turn()
      await session.close()
      deepEqual(await typesOf(store, session.id), ['note', 'left'])
      const read = await store.inspect(session.id)
      deepEqual(
        (await collect(read.audit())).map(({ action }) => action),
        ['left'],
      )
      ok((await read.health()).ok)
    },
  ],
  [
    'entries that a visitor leaves are taken in without a turn, after a moment',
    async (store, place) => {
      await using session = await store.create()
      await (await place.open()).visit(session.id, (visit) => visit.append({ type: 'left' }))
      await until('the entry is taken in', async () => (await typesOf(store, session.id)).includes('left'))
    },
  ],
  [
    'entries that are left while the holder closes are neither lost nor doubled',
    async (store, place) => {
      const other = await place.open()
      const id = await closedSession(store)
      for (let round = 0; round < 15; round++) {
        const session = await store.resume(id)
        const visiting = other.visit(id, (visit) => visit.append({ type: `r${round}` }))
        await Promise.all([visiting, session.close()])
      }
      deepEqual(
        await typesOf(store, id),
        Array.from({ length: 15 }, (_, round) => `r${round}`),
      )
    },
  ],
  [
    'an act that a visitor has begun is uncertain for the holder',
    async (store, place) => {
      await using session = await store.create()
      equal(await session.act({ action: 'first', key: 'other' }, () => 1), 1)
      await (
        await place.open()
      ).visit(session.id, (visit) => visit.audit({ action: 'pay', phase: 'intent', act: 'act_v', key: 'k' }))
      await session.turn()
      deepEqual(
        session.unsettled().map(({ act }) => act),
        ['act_v'],
      )
      await rejects(
        'ACT_UNCERTAIN',
        session.act({ action: 'pay', key: 'k' }, () => 1),
      )
    },
  ],
  [
    'a session that only visitors write to is resumed from a snapshot that a visitor has taken',
    async (store, { snapshots = true }) => {
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
      deepEqual([snapshot, replayed, session.lastSeq], snapshots ? [5000, 2, 5002] : [undefined, 5002, 5002])
      deepEqual(
        session.unsettled().map(({ act }) => act),
        ['act_1'],
      )
    },
  ],
  [
    'a visit that fails gives the session back',
    async (store) => {
      const id = await closedSession(store)
      const failing = store.visit(id, () => {
        throw new Error('mine')
      })
      await fails(failing, { message: 'mine' })
      await using session = await store.resume(id)
      equal(session.lastSeq, 0)
    },
  ],
]

async function closedSession(store: SessionStore): Promise<string> {
  const session = await store.create()
  await session.close()
  return session.id
}
