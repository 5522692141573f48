import { deepEqual, equal, match, ok } from 'node:assert/strict'
import type { Session } from '../../session/index.ts'
import { rejects, type StoreCases, valuesOf } from '../conformance-case.ts'

const datas = async (session: Session): Promise<unknown[]> => await valuesOf(session.events(), 'data')

/** Forks. */
export const forkCases: StoreCases = {
  async 'a fork has everything up to a record, and outlives the original'(store, place) {
    const session = await store.create({ id: 'origin', title: 'T', tool: 'test' })
    const slot = session.slot('s', { version: '1', initial: 0 })
    for (let i = 1; i <= 5; i++) await session.append({ type: 'note', data: i })
    await slot.set(6)
    await session.append({ type: 'note', data: 'y'.repeat(300_000) })
    await session.snapshot()
    await slot.set(8)
    await session.append({ type: 'note', data: 9 })
    const fork = await session.fork({ at: 7, id: 'fork', title: 'F' })
    equal(fork.lastSeq, 7)
    await fork.close()
    await session.close()
    await store.remove('origin')
    const other = await place.open()
    const again = await other.resume('fork')
    deepEqual(await datas(again), [1, 2, 3, 4, 5, 'y'.repeat(300_000)])
    equal(again.slot('s', { version: '1', initial: 0 }).value, 6)
    equal((await again.append({ type: 'note', data: 'own' })).seq, 8)
    await again.close()
    const { summary, manifest, health } = await other.inspect('fork')
    deepEqual([summary.title, summary.tool, summary.records], ['F', 'test', 8])
    deepEqual(manifest.revisions[0]?.from, { session_id: 'origin', seq: 7 })
    ok((await health()).ok)
  },
  async 'a fork has all records by default, none with at: 0, and is refused beyond the end'(store) {
    await using session = await store.create()
    for (let i = 1; i <= 3; i++) await session.append({ type: 'note', data: i })
    await using whole = await session.fork()
    match(whole.id, /^ses_/)
    deepEqual(await datas(whole), [1, 2, 3])
    await using empty = await session.fork({ at: 0 })
    deepEqual(await datas(empty), [])
    equal((await empty.append({ type: 'note' })).seq, 1)
    await rejects('ARG_ERROR', session.fork({ at: 4 }), session.fork({ at: -1 }), session.fork({ at: 1.5 }))
    await rejects('NAME_TAKEN', session.fork({ id: whole.id }))
    equal((await store.list()).length, 3)
  },
  async 'the original and its fork go on separately'(store) {
    await using session = await store.create()
    await session.append({ type: 'note', data: 'shared' })
    await using fork = await session.fork()
    await Promise.all(
      Array.from({ length: 5 }, async (_, i) => {
        await session.append({ type: 'note', data: `origin ${i}` })
        await fork.append({ type: 'note', data: `fork ${i}` })
      }),
    )
    await fork.slot('s', { version: '1', initial: 0 }).set(1)
    equal(session.slot('s', { version: '1', initial: 0 }).value, 0)
    deepEqual(
      (await datas(session)).filter((data) => String(data).startsWith('fork')),
      [],
    )
    deepEqual(
      (await datas(fork)).filter((data) => String(data).startsWith('origin')),
      [],
    )
  },
  async 'an act that was settled before the fork is not performed again in it'(store) {
    await using session = await store.create()
    equal(await session.act({ action: 'pay', key: 'k' }, () => 1), 1)
    await session.append({ type: 'note' })
    await using fork = await session.fork()
    equal(await fork.act({ action: 'pay', key: 'k' }, () => 2), 1)
    ok((await (await store.inspect(fork.id)).health()).ok)
  },
}
