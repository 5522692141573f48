import { deepEqual, equal, ok, rejects as fails } from 'node:assert/strict'
import type { DriverStore, HeldSession, Inspection, SessionStore } from '../../session/index.ts'
import { collect, fieldsOf, rejects, type StoreCases, until, valuesOf } from '../conformance-case.ts'

const typesOf = async (store: SessionStore, id: string): Promise<string[]> =>
  await valuesOf((await store.inspect(id)).events(), 'type')

/** Holds a session and does nothing else: what visitors leave stays where they left it. */
const holdIdly = (store: SessionStore, id: string): Promise<HeldSession> =>
  (store as DriverStore).driver.open(id, { kind: 'writer' }, { check: () => {} })

/** All that can be read of what was appended and audited. */
const readAll = async (read: Inspection) => ({
  events: await fieldsOf(read.events(), 'seq', 'type'),
  tail: await fieldsOf(read.tail(3), 'seq', 'type'),
  audit: await fieldsOf(read.audit(), 'seq', 'action', 'ok'),
  unsettled: await valuesOf(read.unsettled(), 'act'),
})

/** Short entries by scripts and hooks. */
export const visitCases: StoreCases = {
  async 'a visit to a free session writes directly, and adds no revision'(store, place) {
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
  async 'entries that a visitor leaves are taken in once, with the next turn of the holder'(store, place) {
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
    deepEqual(await valuesOf(read.audit(), 'action'), ['left'])
    ok((await read.health()).ok)
  },
  async 'what a visitor has left can be read at once, without a number'(store, place) {
    const session = await store.create()
    await session.append({ type: 'first' })
    await session.audit({ action: 'pay', phase: 'intent', act: 'act_1' })
    await session.close()
    const held = await holdIdly(store, session.id)
    await (
      await place.open()
    ).visit(session.id, async (visit) => {
      ok(!visit.direct)
      await visit.append({ type: 'left', data: { n: 1 } })
      await visit.audit({ action: 'pay', phase: 'outcome', act: 'act_1', ok: true })
      await visit.append({ type: 'other' })
      await visit.audit({ action: 'run', phase: 'intent', act: 'act_2' })
      await visit.append({ type: 'left' })
    })
    const read = await store.inspect(session.id)
    const [first, left] = await collect(read.events())
    deepEqual([first?.seq, first && 'pending' in first], [1, false])
    deepEqual([left?.data, left && 'pending' in left && left.pending], [{ n: 1 }, true])
    ok(left !== undefined && Date.now() - left.at < 60_000)
    const pending = ['left', 'other', 'left'].map((type) => [undefined, type])
    deepEqual(await readAll(read), {
      events: [[1, 'first'], ...pending],
      tail: pending,
      audit: [
        [1, 'pay', undefined],
        [undefined, 'pay', true],
        [undefined, 'run', undefined],
      ],
      unsettled: ['act_2'],
    })
    equal((await collect(read.events({ type: 'other' }))).length, 1)
    equal((await read.tail(9, { type: 'left' })).length, 2)
    deepEqual(await read.tail(0), [])
    const typesIn = async (range: object): Promise<string[]> => await valuesOf(read.events(range), 'type')
    deepEqual(await typesIn({ to: 9 }), ['first'])
    deepEqual(await typesIn({ from: 2 }), ['left', 'other', 'left'])
    deepEqual(await typesIn({ from: 3 }), [])
    await held.release()
    await using again = await store.resume(session.id)
    await again.turn()
    deepEqual((await readAll(await store.inspect(session.id))).events, [
      [1, 'first'],
      [2, 'left'],
      [3, 'other'],
      [4, 'left'],
    ])
    equal((await again.tail(3))[0]?.spool, left.spool)
  },
  async 'the holder reads at once what a visitor has left, with its number'(store, place) {
    const other = await place.open()
    await using session = await store.create()
    const leave = (type: string): Promise<unknown> =>
      other.visit(session.id, (visit) => visit.append({ type }))
    await leave('first')
    deepEqual(await fieldsOf(session.events(), 'seq', 'type'), [[1, 'first']])
    await leave('second')
    deepEqual(await fieldsOf(session.tail(1), 'seq', 'type'), [[2, 'second']])
  },
  async 'what a visitor has left is read once at every moment while the holder takes it in'(store, place) {
    const id = await closedSession(store)
    const held = await holdIdly(store, id)
    await (
      await place.open()
    ).visit(id, async (visit) => {
      for (const n of [1, 2, 3]) {
        await visit.append({ type: `e${n}` })
        await visit.audit({ action: `a${n}`, phase: 'intent', act: `act_${n}` })
      }
    })
    const check = async (): Promise<void> => {
      const { events, tail, audit, unsettled } = await readAll(await store.inspect(id))
      for (const types of [events, tail])
        deepEqual(
          types.map(([, type]) => type),
          ['e1', 'e2', 'e3'],
        )
      deepEqual(
        audit.map(([, action]) => action),
        ['a1', 'a2', 'a3'],
      )
      deepEqual(unsettled, ['act_1', 'act_2', 'act_3'])
    }
    await check()
    // A reader that stands between two pages of the log when the holder takes everything in.
    const reading = (await store.inspect(id)).events()
    const types: string[] = []
    for await (const { type } of reading) {
      types.push(type)
      if (types.length === 1)
        await held.drainSpool(async (entry) => {
          await held.append(entry.log, entry)
          await check()
        })
    }
    deepEqual(types, ['e1', 'e2', 'e3'])
    await check()
    await held.release()
  },
  async 'readers see each entry once while visitors leave them and the holder takes them in'(store, place) {
    const other = await place.open()
    await using session = await store.create()
    const acknowledged: string[] = []
    const visits = new AbortController()
    const { signal } = visits
    const visitor = (async () => {
      for (let n = 0; n < 40; n++) {
        await other.visit(session.id, (visit) => visit.append({ type: `v${n}` }))
        acknowledged.push(`v${n}`)
      }
    })().finally(() => visits.abort())
    const holder = (async () => {
      while (!signal.aborted) await session.turn()
    })()
    while (!signal.aborted) {
      const there = [...acknowledged]
      const read = await store.inspect(session.id)
      for (const types of [await valuesOf(read.events(), 'type'), await valuesOf(read.tail(100), 'type')]) {
        deepEqual(types.slice(0, there.length), there)
        equal(new Set(types).size, types.length)
      }
    }
    await Promise.all([visitor, holder])
  },
  async 'entries that a visitor leaves are taken in without a turn, after a moment'(store, place) {
    await using session = await store.create()
    await (await place.open()).visit(session.id, (visit) => visit.append({ type: 'left' }))
    await until('the entry is taken in', async () => (await typesOf(store, session.id)).includes('left'))
  },
  async 'entries that are left while the holder closes are neither lost nor doubled'(store, place) {
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
  async 'an act that a visitor has begun is uncertain for the holder'(store, place) {
    await using session = await store.create()
    equal(await session.act({ action: 'first', key: 'other' }, () => 1), 1)
    await (
      await place.open()
    ).visit(session.id, (visit) => visit.audit({ action: 'pay', phase: 'intent', act: 'act_v', key: 'k' }))
    await session.turn()
    deepEqual(await valuesOf(session.unsettled(), 'act'), ['act_v'])
    await rejects(
      'ACT_UNCERTAIN',
      session.act({ action: 'pay', key: 'k' }, () => 1),
    )
  },
  async 'an act of a visitor is not performed again, even if it is taken in while the holder acts'(
    store,
    place,
  ) {
    await using session = await store.create()
    const other = await place.open()
    for (const key of ['k', 'l']) {
      await other.visit(session.id, async (visit) => {
        await visit.audit({ action: 'pay', phase: 'intent', act: `act_${key}`, key })
        await visit.audit({ action: 'pay', phase: 'outcome', act: `act_${key}`, ok: true })
      })
      const turn = session.turn()
      equal(await session.act({ action: 'pay', key }, () => 'paid twice'), undefined)
      await turn
    }
  },
  async 'a session that only visitors write to is resumed from their snapshot'(store, { snapshots = true }) {
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
    deepEqual(await valuesOf(session.unsettled(), 'act'), ['act_1'])
  },
  async 'a session is followed from a record on, across writers and visitors, each event once'(store, place) {
    const session = await store.create()
    await session.append([{ type: 'a' }, { type: 'b' }])
    const other = await place.open()
    const types: string[] = []
    const following = take(other.follow(session.id, { from: 2 }), 4, types)
    await until('the first one is there', () => types.length === 1)
    await other.visit(session.id, (visit) => visit.append({ type: 'left' }))
    await until('what a visitor left is there', () => types.length === 2)
    await session.turn()
    await session.append({ type: 'c' })
    await session.close()
    await using again = await store.resume(session.id)
    await again.append({ type: 'd' })
    await following
    deepEqual(types, ['b', 'left', 'c', 'd'])
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
    const direct = await other.visit(id, async (visit) => {
      const before = (await visit.inspect()).summary.records
      const { seq } = await visit.append({ type: 'count', data: before })
      const { seq: line } = await visit.audit({ action: 'counted' })
      return [seq, line, await valuesOf((await visit.inspect()).tail(1), 'data')]
    })
    deepEqual(direct, [1, 1, [0]])
    const held = await holdIdly(store, id)
    equal(await (await other.inspect(id)).spooled(), 0)
    const left = await other.visit(id, async (visit) => {
      const receipts = [await visit.append({ type: 'left' }), await visit.audit({ action: 'left' })]
      return [
        ...(await valuesOf(receipts, 'seq')),
        ...(await valuesOf((await visit.inspect()).tail(9), 'type')),
      ]
    })
    deepEqual(left, [undefined, undefined, 'count', 'left'])
    equal(await (await other.inspect(id)).spooled(), 2)
    await held.release()
    await (await store.resume(id)).close()
    equal(await (await other.inspect(id)).spooled(), 0)
  },
  async 'of many visits that read, fold and write, none overwrites what another has written'(store, place) {
    const id = await closedSession(store)
    const add = async (): Promise<void> => {
      const other = await place.open()
      await other.visit(
        id,
        async (visit) => {
          ok(visit.direct)
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
