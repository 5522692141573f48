import { deepEqual, equal, ok } from 'node:assert/strict'
import { collect, rejects, type StoreCases, valuesOf } from '../conformance-case.ts'

const deep = (depth: number): unknown => {
  let value: unknown = 'bottom'
  for (let i = 0; i < depth; i++) value = i % 2 === 0 ? [value] : { value }
  return value
}

/** Data that a careless store would change. */
const oddData: unknown[] = [
  undefined,
  null,
  0,
  -1.5e-300,
  '',
  'line\nline\r\n\u2028 \u2029 \0 \u001b[31m',
  'ünïcödé 🙂 \ud83d\ude00',
  { seq: 9, crc: '00000000', '"},{"': '\\', __proto__: null },
  [[], {}, [null]],
  '","crc":"01234567"}\n{"seq":1,"at":1',
  deep(500),
  'x'.repeat(256 * 1024 - 10),
  { text: 'ä'.repeat(300 * 1024), list: Array.from({ length: 1000 }, (_, i) => i) },
]

/** Times that a clock may return by mistake. */
const oddTimes: unknown[] = [
  1_700_000_000_000.75,
  -86_400_000.5,
  new Date(1_700_000_000_000),
  1e300,
  Number.NEGATIVE_INFINITY,
]

/** The journal. */
export const eventCases: StoreCases = {
  async 'events are numbered from 1 without gaps, in the order in which they were appended'(store) {
    await using session = await store.create()
    const appended = Array.from({ length: 200 }, (_, i) => session.append({ type: 'note', data: i }))
    deepEqual(
      await valuesOf(Promise.all(appended), 'seq'),
      Array.from({ length: 200 }, (_, i) => i + 1),
    )
    equal(session.lastSeq, 200)
    const events = await collect(session.events())
    deepEqual(
      events.map(({ seq, data }) => [seq, data]),
      Array.from({ length: 200 }, (_, i) => [i + 1, i]),
    )
    ok(events.every(({ at, type }) => Math.abs(at - Date.now()) < 600_000 && type === 'note'))
  },
  async 'an append with durable: false keeps its place, and is acknowledged'(store, place) {
    const session = await store.create()
    const lazy = session.append({ type: 'lazy' }, { durable: false })
    const soon = session.append({ type: 'soon' })
    deepEqual([(await lazy).seq, (await soon).seq], [1, 2])
    await session.append({ type: 'alone' }, { durable: false })
    void session.append({ type: 'last' }, { durable: false })
    await session.close()
    const read = await (await place.open()).inspect(session.id)
    deepEqual(await valuesOf(read.events(), 'type'), ['lazy', 'soon', 'alone', 'last'])
  },
  async 'the process stays alive until an append with durable: false is acknowledged'(store) {
    await using session = await store.create()
    const before = process.getActiveResourcesInfo().length
    let settled = false
    const appended = session.append({ type: 'lazy' }, { durable: false }).finally(() => (settled = true))
    // A suite that runs inside any test runner cannot start a process with the driver in it and watch it
    // end. It asks Node for what keeps the event loop alive instead: a driver that delays the write must
    // have added a resource, such as a timer that is not unref'd, or must have one by the time the event
    // loop goes round.
    let added = process.getActiveResourcesInfo().length > before
    await new Promise((resolve) => setImmediate(resolve))
    added ||= process.getActiveResourcesInfo().length > before
    ok(settled || added, 'a process that awaits only this append would end before it is written')
    equal((await appended).seq, 1)
  },
  async 'data is read back unchanged: large, deep, with any character'(store, place) {
    const session = await store.create()
    for (const data of oddData) await session.append({ type: 'odd', data })
    await session.close()
    const expected = oddData.map((data) => JSON.parse(JSON.stringify({ data })) as { data?: unknown })
    await using again = await (await place.open()).resume(session.id)
    const read = (await collect(again.events())).map(({ data }) => ({ data: data ?? null }))
    deepEqual(
      read,
      expected.map(({ data }) => ({ data: data ?? null })),
    )
    deepEqual(await valuesOf(again.tail(2), 'data'), oddData.slice(-2))
  },
  async 'every acknowledged record can be read, whatever the clock returns'(_, place) {
    for (const time of oddTimes) {
      const store = await place.open({ now: () => time as number, mono: () => 1 })
      const session = await store.create()
      await session.append({ type: 'note', data: 1 })
      await session.slot('s', { version: '1', initial: 0 }).set(7)
      await session.act({ action: 'deploy', key: 'once' }, () => 'done')
      await session.turn()
      await session.close()
      await store.visit(session.id, (visit) => visit.append({ type: 'note', data: 2 }))
      const again = await store.resume(session.id)
      deepEqual(await valuesOf(again.events(), 'data'), [1, 2])
      deepEqual([again.slot('s', { version: '1', initial: 0 }).value, again.turns], [7, 1])
      await again.close()
      const { health, summary } = await store.inspect(session.id)
      ok((await health()).ok)
      deepEqual([summary.state, summary.records], ['closed', 4])
    }
  },
  async 'events are read by range, by type, or from the end'(store) {
    await using session = await store.create()
    for (let i = 1; i <= 20; i++) await session.append({ type: i % 5 === 0 ? 'fifth' : 'note', data: i })
    await session.turn()
    const seqs = async (options: Parameters<typeof session.events>[0]): Promise<number[]> =>
      await valuesOf(session.events(options), 'seq')
    deepEqual(await seqs({ from: 18 }), [18, 19, 20])
    deepEqual(await seqs({ from: 3, to: 5 }), [3, 4, 5])
    deepEqual(await seqs({ to: 2 }), [1, 2])
    deepEqual(await seqs({ from: 21 }), [])
    deepEqual(await seqs({ from: 100 }), [])
    deepEqual(await seqs({ type: 'fifth' }), [5, 10, 15, 20])
    deepEqual(await seqs({ type: 'fifth', from: 6, to: 15 }), [10, 15])
    deepEqual(await seqs({ from: 20, all: true }), [20, 21])
    deepEqual(await seqs({ type: 'stint.turn' }), [21])
    deepEqual(await valuesOf(session.tail(3), 'seq'), [18, 19, 20])
    deepEqual(await session.tail(0), [])
    equal((await session.tail(1000)).length, 20)
    const read = await store.inspect(session.id)
    deepEqual(await valuesOf(read.tail(2, { type: 'fifth' }), 'seq'), [15, 20])
    deepEqual(await valuesOf(read.tail(1, { all: true }), 'seq'), [21])
  },
  async 'events that are appended together are all there, in order, or none is'(store, place) {
    const session = await store.create()
    const before = session.append({ type: 'before' })
    const together = session.append([
      { type: 'a', data: 1 },
      { type: 'b', data: 'x'.repeat(300_000) },
      { type: 'c' },
    ])
    const after = session.append({ type: 'after' })
    deepEqual(await valuesOf(together, 'seq'), [2, 3, 4])
    deepEqual([(await before).seq, (await after).seq, session.lastSeq], [1, 5, 5])
    await rejects(
      'ARG_ERROR',
      session.append([{ type: 'fine' }, { type: 'odd', data: Number.NaN }]),
      session.append([{ type: 'fine' }, { type: '' }]),
    )
    deepEqual(await session.append([]), [])
    equal(session.lastSeq, 5)
    const many = Array.from({ length: 5000 }, (_, n) => ({ type: 'many', data: n }))
    equal((await session.append(many, { durable: false })).at(-1)?.seq, 5005)
    const types = ['before', 'a', 'b', 'c', 'after']
    deepEqual((await valuesOf(session.events({ to: 5 }), 'type')).slice(0, 5), types)
    await session.close()
    const again = await (await place.open()).resume(session.id)
    deepEqual(await valuesOf(again.events({ to: 5 }), 'type'), types)
    equal((await again.tail(1))[0]?.data, 4999)
    await using fork = await again.fork({ at: 3 })
    deepEqual(await valuesOf(fork.events(), 'type'), ['before', 'a', 'b'])
    deepEqual(await valuesOf((await store.inspect(fork.id)).tail(9), 'type'), ['before', 'a', 'b'])
    const other = await place.open()
    await other.unlock(again.id)
    await (await other.resume(again.id)).close()
    await rejects('FENCED', again.append([{ type: 'late' }, { type: 'later' }]))
    await again.close().catch(() => {})
    equal((await (await store.inspect(again.id)).tail(1))[0]?.data, 4999)
  },
  async 'a reader sees acknowledged events while the writer goes on'(store, place) {
    const other = await place.open()
    await using session = await store.create()
    for (let i = 1; i <= 10; i++) {
      const writing = session.append({ type: 'later', data: 'x'.repeat(5000) })
      await session.append({ type: 'note', data: i })
      const read = await other.inspect(session.id)
      const events = await collect(read.events())
      ok(events.length >= 2 * i)
      deepEqual(
        events.map(({ seq }) => seq),
        Array.from(events, (_, k) => k + 1),
      )
      ok((await read.health()).ok)
      await writing
    }
  },
  async 'events are read from the end, and no more than the reader asks for'(store, place) {
    const session = await store.create({ id: 'long' })
    await session.append(
      Array.from({ length: 40 }, (_, n) => ({ type: n % 10 === 0 ? 'ten' : 'one', data: n })),
    )
    await session.append({ type: 'ten', data: 'last' })
    const inspection = await (await place.open()).inspect('long')
    const newest = inspection.events({ newestFirst: true })
    deepEqual((await valuesOf(newest, 'data')).slice(0, 3), ['last', 39, 38])
    const tens = inspection.events({ newestFirst: true, type: 'ten', from: 12 })
    deepEqual(await valuesOf(tens, 'data'), ['last', 30, 20])
    deepEqual(await valuesOf(inspection.events({ newestFirst: true, from: 3, to: 5 }), 'seq'), [5, 4, 3])
    deepEqual(await collect(inspection.events({ newestFirst: true, from: 42 })), [])
    deepEqual(await valuesOf(inspection.events({ newestFirst: true, from: 41 }), 'data'), ['last'])
    await rejects('ARG_ERROR', collect(inspection.events({ newestFirst: true, from: 1.5 })))
    for await (const { data, seq } of session.events({ newestFirst: true })) {
      deepEqual([data, seq], ['last', 41])
      break
    }
    deepEqual(await valuesOf(session.events({ newestFirst: true, to: 2 }), 'seq'), [2, 1])
    await session.close()
  },
  async 'a long session without turns takes snapshots, so that its newest state is read without all of it'(
    store,
  ) {
    const session = await store.create({ id: 'long' })
    const slot = session.slot('s', { version: '1', initial: 0 })
    await slot.set(1)
    const batch = Array.from({ length: 1000 }, () => ({ type: 'note' }))
    for (let n = 0; n < 6; n++) await session.append(batch)
    await slot.set(2)
    deepEqual((await (await store.inspect('long')).slots()).s?.value, 2)
    await store.unlock('long')
    await using again = await store.resume('long')
    const { snapshot = 0, replayed } = again.report
    ok(snapshot > 5000, `the newest snapshot has record ${snapshot}`)
    equal(snapshot + replayed, 6002)
    equal(again.slot('s', { version: '1', initial: 0 }).value, 2)
  },
}
