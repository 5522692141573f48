import { deepEqual, equal } from 'node:assert/strict'
import type { Session } from '../../../src/session/index.ts'
import {
  codeOf,
  collect,
  fieldsOf,
  rejects,
  type StoreCases,
  valuesOf,
} from '../../../src/testing/conformance-case.ts'

/** Acts, which are recorded before and after they are performed. */
export const actCases: StoreCases = {
  async 'an intent is recorded before the act, its outcome after it'(store) {
    await using session = await store.create()
    const seen = async () => await fieldsOf((await store.inspect(session.id)).audit(), 'type', 'ok')
    const result = await session.act({ action: 'shell', subject: 'make' }, async () => {
      deepEqual(await seen(), [['intent', undefined]])
      equal(session.unsettled().length, 1)
      return { code: 0 }
    })
    deepEqual(result, { code: 0 })
    deepEqual(await seen(), [
      ['intent', undefined],
      ['outcome', true],
    ])
    deepEqual(session.unsettled(), [])
  },
  async 'an act with a key is performed once, and returns its result after a resume, too'(store, place) {
    const session = await store.create()
    let times = 0
    const act = (): number => (times += 1)
    equal(await session.act({ action: 'pay', key: 'k' }, act), 1)
    equal(await session.act({ action: 'pay', key: 'k' }, act), 1)
    await session.close()
    await using again = await (await place.open()).resume(session.id)
    equal(await again.act({ action: 'pay', key: 'k' }, act), 1)
    equal(times, 1)
    equal(await again.act({ action: 'pay', key: 'k' }, act, { again: true }), 2)
    equal(await again.act({ action: 'pay', key: 'k' }, act), 2)
    equal(await again.act({ action: 'pay' }, act), 3)
  },
  async 'of many concurrent acts with one key one is performed, and all return its result'(store) {
    await using session = await store.create()
    let times = 0
    const acts = Array.from({ length: 10 }, () =>
      session.act({ action: 'pay', key: 'k' }, async () => {
        times += 1
        await new Promise((resolve) => setTimeout(resolve, 5))
        return times
      }),
    )
    deepEqual(
      await Promise.all(acts),
      Array.from({ length: 10 }, () => 1),
    )
    equal(times, 1)
  },
  async 'an act that failed throws its own error, and is not performed again unless asked'(store) {
    await using session = await store.create()
    const failure = Object.assign(new Error('no money'), { code: 'BROKE' })
    const failing = (): never => {
      throw failure
    }
    equal(await codeOf(session.act({ action: 'pay', key: 'k' }, failing)), 'BROKE')
    await rejects(
      'ACT_FAILED',
      session.act({ action: 'pay', key: 'k' }, () => 1),
    )
    equal(await session.act({ action: 'pay', key: 'k' }, () => 1, { again: true }), 1)
    equal(await session.act({ action: 'pay', key: 'k' }, () => 2), 1)
    const lines = await collect((await store.inspect(session.id)).audit())
    deepEqual(lines[1]?.error, { code: 'BROKE', message: 'no money' })
  },
  async 'an act without a recorded outcome is uncertain until it is settled'(store, place) {
    const session = await store.create()
    await session.audit({ action: 'pay', subject: 'rent', phase: 'intent', act: 'act_1', key: 'k' })
    await session.audit({ action: 'pay', phase: 'intent', act: 'act_2', key: 'l' })
    await session.close()
    await using again = await (await place.open()).resume(session.id)
    deepEqual(await fieldsOf(again.unsettled(), 'act', 'action', 'subject', 'key'), [
      ['act_1', 'pay', 'rent', 'k'],
      ['act_2', 'pay', undefined, 'l'],
    ])
    deepEqual(await valuesOf((await store.inspect(session.id)).unsettled(), 'act'), ['act_1', 'act_2'])
    await rejects(
      'ACT_UNCERTAIN',
      again.act({ action: 'pay', subject: 'rent', key: 'k' }, () => 1),
    )
    const [rent] = again.unsettled()
    await rent?.settle({ ok: true, result: 'paid' })
    equal(await again.act({ action: 'pay', subject: 'rent', key: 'k' }, () => 1), 'paid')
    await rejects('ARG_ERROR', rent?.settle({ ok: false }) ?? Promise.resolve())
    deepEqual(await valuesOf(again.unsettled(), 'act'), ['act_2'])
    equal(await again.act({ action: 'pay', key: 'l' }, () => 'anew', { again: true }), 'anew')
    equal(await again.act({ action: 'pay', key: 'l' }, () => 1), 'anew')
  },
  async 'an act with a key waits for audit lines that are on their way, and one of them may settle it'(
    store,
    place,
  ) {
    const session = await store.create()
    for (const key of ['k', 'l'])
      await session.audit({ action: 'pay', phase: 'intent', act: `act_${key}`, key })
    await session.close()
    for (const key of ['k', 'l']) {
      await using again = await (await place.open()).resume(session.id)
      // The first act with a key reads the audit log: the outcome comes before that, or meanwhile.
      const first = key === 'l' ? again.act({ action: 'look', key: 'first' }, () => 1) : undefined
      const open = again.unsettled().find(({ act }) => act === `act_${key}`)
      const settled = open?.settle({ ok: true, result: 'paid' })
      equal(await again.act({ action: 'pay', key }, () => 'paid twice'), 'paid')
      await Promise.all([first, settled])
    }
  },
  async 'a key that belongs to one act is refused for another, done, failed, running or uncertain'(
    store,
    place,
  ) {
    const session = await store.create()
    const never = (): never => {
      throw new Error('must not run')
    }
    const mismatches = (holder: Session, key: string): Promise<void> =>
      rejects(
        'ACT_MISMATCH',
        holder.act({ action: 'refund', subject: 'rent', key }, never),
        holder.act({ action: 'pay', subject: 'water', key }, never),
        holder.act({ action: 'pay', key }, never),
        holder.act({ action: 'refund', subject: 'rent', key }, never, { again: true }),
      )
    equal(await session.act({ action: 'pay', subject: 'rent', key: 'done' }, () => 1), 1)
    await mismatches(session, 'done')
    const running = session.act({ action: 'pay', subject: 'rent', key: 'failed' }, async () => {
      await mismatches(session, 'done')
      throw Object.assign(new Error('no money'), { code: 'BROKE' })
    })
    const other = session.act({ action: 'refund', key: 'failed' }, never)
    await Promise.all([rejects('BROKE', running), rejects('ACT_MISMATCH', other)])
    await session.audit({ action: 'pay', subject: 'rent', phase: 'intent', act: 'act_1', key: 'begun' })
    await session.close()
    await using again = await (await place.open()).resume(session.id)
    for (const key of ['done', 'failed', 'begun']) await mismatches(again, key)
    equal(await again.act({ action: 'pay', subject: 'rent', key: 'done' }, never), 1)
    deepEqual(await valuesOf(again.unsettled(), 'act'), ['act_1'])
  },
  async 'an act that is started within itself is refused, and any thrown value is recorded'(store) {
    await using session = await store.create()
    const inner = session.act({ action: 'pay', key: 'k' }, () =>
      session.act({ action: 'other', key: 'own' }, () => session.act({ action: 'pay', key: 'k' }, () => 1)),
    )
    await rejects('ARG_ERROR', inner)
    const odd = Object.create(null) as object
    const thrown = await session
      .act({ action: 'shell' }, () => {
        throw odd
      })
      .catch((error: unknown) => error)
    equal(thrown, odd)
    deepEqual(session.unsettled(), [])
  },
  async 'an act whose result JSON cannot hold is recorded as done, without a result, and rejects'(
    store,
    place,
  ) {
    const session = await store.create()
    let done = 0
    const odd = (key: string, result: unknown) =>
      session.act({ action: 'pay', key }, () => {
        done += 1
        return result
      })
    const cycle: { self?: object } = {}
    cycle.self = cycle
    await rejects(
      'ARG_ERROR',
      odd('big', 5n),
      odd('cycle', cycle),
      session.act({ action: 'pay' }, () => 5n),
    )
    deepEqual([done, session.unsettled()], [2, []])
    await rejects('ARG_ERROR', session.audit({ action: 'note', detail: 5n }))
    await session.close()
    await using again = await (await place.open()).resume(session.id)
    const never = () => {
      throw new Error('performed again')
    }
    equal(await again.act({ action: 'pay', key: 'big' }, never), undefined)
    const outcomes = await fieldsOf((await store.inspect(session.id)).audit(), 'type', 'ok')
    deepEqual(outcomes.filter(([type]) => type === 'outcome').length, 3)
  },
}
