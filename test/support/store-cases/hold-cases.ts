import { deepEqual, equal, ok, rejects as fails, throws } from 'node:assert/strict'
import { setTimeout as delay } from 'node:timers/promises'
import type { SessionStore, SharedSession } from '../../../src/session/index.ts'
import { rejects, type StoreCases, until, valuesOf } from '../../../src/testing/conformance-case.ts'

const stateOf = async (store: SessionStore, id: string): Promise<string> =>
  (await store.inspect(id)).summary.state

/** Sessions that a store keeps open while its program uses them. */
export const holdCases: StoreCases = {
  async 'uses of a held session share it, and it is closed when it is idle'(store, place) {
    const held = store.hold('shared', { idle: 1, create: { tool: 'agent' } })
    const append = (n: number) => held.use((session) => session.append({ type: 'note', data: n }))
    const receipts = await Promise.all([append(1), append(2), store.hold('shared').use(({ id }) => id)])
    deepEqual([receipts[0].seq, receipts[1].seq, receipts[2]], [1, 2, 'shared'])
    const other = await place.open()
    await until('the idle session is closed', async () => (await stateOf(other, 'shared')) === 'closed')
    equal((await append(3)).seq, 3)
    await held.close()
    const { summary, manifest } = await other.inspect('shared')
    deepEqual([summary.state, summary.records, summary.tool], ['closed', 3, 'agent'])
    deepEqual(await valuesOf(manifest.revisions, 'kind'), ['create', 'close', 'resume', 'close'])
  },
  async 'a held session stays open between uses, and is closed when the program or the store asks'(
    store,
    place,
  ) {
    const held = store.hold('kept', { idle: '1h', create: {} })
    const ids = ['kept', 'also-kept']
    for (const id of ids)
      await store.hold(id, { idle: '1h', create: {} }).use((session) => session.append({ type: 'note' }))
    const other = await place.open()
    deepEqual([held.session?.id, other.hold('kept').session], ['kept', undefined])
    for (const id of ids) equal(await stateOf(other, id), 'active')
    await rejects('SESSION_LOCKED', other.resume('kept'))
    await held.close()
    equal(held.session, undefined)
    await held.close()
    deepEqual([await stateOf(other, 'kept'), await stateOf(other, 'also-kept')], ['closed', 'active'])
    let isUsed = false
    const slow = held.use(async (session) => {
      await session.append({ type: 'slow' })
      isUsed = true
    })
    await store.close()
    ok(isUsed, 'the store was closed before a use had ended')
    await slow
    for (const id of ids) equal(await stateOf(other, id), 'closed')
  },
  async 'without create a held session must exist, and bad input is refused'(store) {
    await rejects(
      'NOT_FOUND',
      store.hold('nothing').use(() => {}),
      store.hold('nothing').use(() => {}),
    )
    await store.hold('nothing').close()
    throws(() => store.hold('a/b'), { code: 'SESSION_ID_INVALID' })
    throws(() => store.hold('a', { idle: 'soon' }), { code: 'ARG_ERROR' })
    throws(() => store.hold('a', { wait: '5' }), { code: 'ARG_ERROR' })
    await rejects(
      'ARG_ERROR',
      store.hold('a', { create: { title: 5 as never } }).use(() => {}),
    )
    deepEqual(await store.list(), [])
    const held = store.hold('a', { idle: '1h', create: {} })
    await fails(
      held.use(() => Promise.reject(new Error('mine'))),
      { message: 'mine' },
    )
    equal(await held.use(({ lastSeq }) => lastSeq), 0)
    await held.close()
  },
  async 'a held session goes to a store that waits for it, and comes back'(store, place) {
    const held = store.hold('wanted', { idle: '1h', wait: '1m', create: {} })
    await held.use((session) => session.append({ type: 'one' }))
    const again = await (await place.open()).resume('wanted', { wait: '1m' })
    const later = held.use((session) => session.append({ type: 'three' }))
    await again.append({ type: 'two' })
    await again.close()
    equal((await later).seq, 3)
    await held.close()
    deepEqual(await valuesOf((await store.inspect('wanted')).events(), 'type'), ['one', 'two', 'three'])
  },
  async 'while a held session is wanted, only uses inside another use begin'(store, place) {
    const held = store.hold('wanted', { idle: '1h', wait: '1m', create: {} })
    await held.use((session) => session.append({ type: 'one' }))
    let go = (): void => {}
    const gate = new Promise<void>((resolve) => (go = resolve))
    const first = held.use(async () => {
      await gate
      return await held.use(() => 'inside')
    })
    const waiting = (await place.open()).resume('wanted', { wait: '1m' })
    const uses: Promise<boolean>[] = []
    await until('a use from outside waits', async () => {
      uses.push(held.use(() => true))
      return !(await Promise.race([uses.at(-1), delay(100, false)]))
    })
    go()
    equal(await first, 'inside')
    await (await waiting).close()
    ok((await Promise.all(uses)).every(Boolean))
    await held.close()
  },
  async 'more sessions than may be open at once can be used, at once and one after the other'(store) {
    const ids = Array.from({ length: 70 }, (_, n) => `s${n}`)
    const holdOf = (id: string): SharedSession => store.hold(id, { idle: '1h', wait: '1m', create: {} })
    await Promise.all(ids.map((id) => holdOf(id).use((session) => session.append({ type: 'note' }))))
    for (const id of ids.slice(0, 8)) await holdOf(id).use((session) => session.append({ type: 'note' }))
    const listed = await store.list()
    equal(listed.filter(({ state }) => state === 'active').length, 64)
    equal(
      listed.reduce((sum, { records }) => sum + records, 0),
      78,
    )
    await store.close()
    ok((await store.list()).every(({ state }) => state === 'closed'))
  },
  async 'a held session that was taken over refuses one use, and the next one opens it again'(store, place) {
    const other = await place.open()
    const held = store.hold('taken', { idle: '1h', wait: '1m', create: {} })
    const append = (type: string) => held.use((session) => session.append({ type }))
    await append('one')
    await other.unlock('taken')
    const again = await other.resume('taken')
    await again.append({ type: 'two' })
    await rejects('FENCED', append('lost'))
    await again.close()
    equal((await append('three')).seq, 3)
    await held.close()
  },
}
