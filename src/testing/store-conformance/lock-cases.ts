import { deepEqual, equal, match, ok, rejects as fails } from 'node:assert/strict'
import { collect, fieldsOf, rejects, type StoreCases } from '../conformance-case.ts'

/** One writer at a time. */
export const lockCases: StoreCases = {
  async 'while a session is held, others are refused, with the holder and its purpose'(store, place) {
    const other = await place.open()
    const session = await store.create({ purpose: 'write a novel' })
    await rejects('SESSION_LOCKED', other.resume(session.id), store.resume(session.id))
    await fails(other.resume(session.id), ({ message }: Error) => {
      match(message, new RegExp(`pid ${process.pid}`))
      match(message, /write a novel/)
      return true
    })
    await session.close()
    await using again = await other.resume(session.id)
    equal(again.report.tookOverFrom, undefined)
  },
  async 'a waiting resume gets the released session, or ends at its timeout or abort'(store, place) {
    const other = await place.open()
    const session = await store.create()
    const waiting = other.resume(session.id, { wait: '1m' })
    await rejects('SESSION_LOCKED', other.resume(session.id, { wait: 60 }))
    for (const wait of ['soon', '60']) await rejects('ARG_ERROR', other.resume(session.id, { wait }))
    const controller = new AbortController()
    const aborted = other.resume(session.id, { wait: '1m', signal: controller.signal })
    controller.abort(new Error('enough'))
    await fails(aborted)
    await session.close()
    const again = await waiting
    await again.close()
  },
  async 'of many resumes at once exactly one succeeds'(store, place) {
    const session = await store.create()
    await session.close()
    const stores = await Promise.all(Array.from({ length: 8 }, () => place.open()))
    const tries = await Promise.allSettled(stores.map((each) => each.resume(session.id)))
    const won = tries.flatMap((each) => (each.status === 'fulfilled' ? [each.value] : []))
    equal(won.length, 1)
    for (const each of tries)
      if (each.status === 'rejected') equal((each.reason as { code?: string }).code, 'SESSION_LOCKED')
    await won[0]?.close()
  },
  async 'a writer whose session was taken is fenced, and the new writer goes on'(store, place) {
    const other = await place.open()
    const session = await store.create()
    const slot = session.slot('s', { version: '1', initial: 0 })
    await session.append({ type: 'first' })
    equal((await other.unlock(session.id))?.process.pid, process.pid)
    equal(await other.unlock(session.id), undefined)
    await using again = await other.resume(session.id)
    await again.append({ type: 'second' })
    await rejects(
      'FENCED',
      session.append({ type: 'late' }),
      session.append({ type: 'late' }),
      slot.set(1),
      session.audit({ action: 'late' }),
      session.act({ action: 'late' }, () =>
        ok(false, 'an act whose intent is not written must not be performed'),
      ),
      session.annotate({ title: 'late' }),
      session.snapshot(),
      session.turn(),
      session.close(),
    )
    await again.append({ type: 'second' })
    deepEqual(await fieldsOf(again.events(), 'seq', 'type'), [
      [1, 'first'],
      [2, 'second'],
      [3, 'second'],
    ])
    const read = await store.inspect(session.id)
    ok((await read.health()).ok)
    equal(read.summary.title, undefined)
    deepEqual(await collect(read.audit()), [])
  },
}
