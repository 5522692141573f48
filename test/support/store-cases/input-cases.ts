import { deepEqual, equal, rejects as fails } from 'node:assert/strict'
import { rejects, type StoreCases, valuesOf } from '../../../src/testing/conformance-case.ts'

/** Lists in lists, this many. */
const deepList = (depth: number): unknown =>
  Array.from({ length: depth }).reduce<unknown>((inner) => [inner], 'bottom')

const circle: { self?: unknown } = {}
circle.self = { again: [circle] }

/** Data that JSON would change, by the path of the first part that it would. */
const lossyData: Record<string, unknown> = {
  data: () => {},
  'data.a': { a: Number.NaN },
  'data.list[1]': { list: [0, undefined] },
  'data[0]["odd key"]': [{ 'odd key': Number.POSITIVE_INFINITY }],
  'data.map': { first: new Date(), map: new Map([[1, 2]]) },
  'data[2]': [1, 2, new Set()],
  'data.b.c': { a: { b: 1 }, b: { c: 1n } },
  'data.self.again[0]': circle,
  'data.tag': { tag: Symbol('tag') },
  'data.error': { error: new Error('lost') },
  'data.bytes': { bytes: new Uint8Array(2) },
  'data.made.by': { made: { toJSON: () => ({ by: () => {} }) } },
}

/** What an append and a read refuse before a driver sees it. */
export const inputCases: StoreCases = {
  async 'a type is a string of 1 to 200 characters, and stint. is reserved'(store) {
    await using session = await store.create()
    const append = (type: unknown): Promise<unknown> => session.append({ type: type as string })
    await rejects('ARG_ERROR', append(''), append('x'.repeat(201)), append(7), append('stint.turn'))
    equal(session.lastSeq, 0)
    equal((await session.append({ type: 'ok "\n\u2028' })).seq, 1)
    equal((await session.tail(1))[0]?.type, 'ok "\n\u2028')
  },
  async 'what is no event is refused, alone and among others, and nothing is written'(store) {
    await using session = await store.create({ snapshots: { at: 'critical', critical: ['x'] } })
    await using plain = await store.create()
    for (const odd of [null, undefined, 'text', [{ type: 'x' }, null], [undefined, { type: 'x' }]]) {
      const event = odd as unknown as { type: string }
      await rejects('ARG_ERROR', session.append(event), plain.append(event))
    }
    deepEqual([session.lastSeq, plain.lastSeq], [0, 0])
    await plain.close()
    await rejects(
      'ARG_ERROR',
      store.visit(plain.id, (visit) => visit.append(null as unknown as { type: string })),
    )
    equal((await store.inspect(plain.id)).summary.records, 0)
  },
  async 'data that JSON would change is refused, by the path of the part, and nothing is written'(store) {
    await using session = await store.create()
    const append = (data: unknown): Promise<unknown> => session.append({ type: 'odd', data })
    const before = session.append({ type: 'before' })
    const failing = Object.entries(lossyData).map(async ([path, data]) => {
      await fails(append(data), (error: Error) => error.message.startsWith(`${path} is `), path)
      await rejects('ARG_ERROR', append(data))
    })
    const after = session.append({ type: 'after' })
    await Promise.all(failing)
    deepEqual([(await before).seq, (await after).seq, session.lastSeq], [1, 2, 2])
    await rejects('ARG_ERROR', session.turn(new Map()), append(deepList(100_000)))
    await session.close()
    await rejects(
      'ARG_ERROR',
      store.visit(session.id, (visit) => visit.append({ type: 'odd', data: 1n })),
    )
  },
  async 'data with toJSON is written as that says, and properties that are undefined are left out'(store) {
    await using session = await store.create()
    const shared = { n: 1 }
    class Point {
      x = 1
    }
    const at = new Date(1_700_000_000_000)
    await session.append({
      type: 'odd',
      data: { at, gone: undefined, point: new Point(), twice: [shared, shared], bytes: Buffer.from([97]) },
    })
    deepEqual((await session.tail(1))[0]?.data, {
      at: at.toISOString(),
      point: { x: 1 },
      twice: [shared, shared],
      bytes: { type: 'Buffer', data: [97] },
    })
  },
  async 'an invalid range is refused; a range that begins before the first event begins at the first'(store) {
    await using session = await store.create()
    for (const n of [1, 2, 3]) await session.append({ type: 'note', data: n })
    const seqs = async (options: object): Promise<number[]> => await valuesOf(session.events(options), 'seq')
    deepEqual(await seqs({ from: 0 }), [1, 2, 3])
    deepEqual(await seqs({ from: -5, to: 2 }), [1, 2])
    deepEqual(await seqs({ from: undefined, to: undefined }), [1, 2, 3])
    await rejects(
      'ARG_ERROR',
      seqs({ from: 1.5 }),
      seqs({ to: '2' }),
      session.tail(2.5),
      session.tail('2' as never),
    )
  },
}
