import { deepEqual, equal, ok, rejects as fails, throws } from 'node:assert/strict'
import type { Session } from '../../session/index.ts'
import { randomFrom, rejects, type StoreCases, valuesOf } from '../conformance-case.ts'

const coded = (code: string) => (error: unknown) => (error as { code?: string }).code === code

/** Slots, turns and snapshots. */
export const slotCases: StoreCases = {
  async 'a slot that is opened twice has one value'(store) {
    await using session = await store.create()
    const options = { version: '1', initial: 0 }
    const [one, other] = [session.slot('count', options), session.slot('count', options)]
    await one.set(1)
    equal(other.value, 1)
    await other.set(other.value + 1)
    equal(one.value, 2)
    await session.resetSlot('count', '1', 0)
    equal(one.value, 0)
  },
  async 'a slot has its initial value until it is set, and the last value after every resume'(store, place) {
    const session = await store.create()
    const slot = session.slot('todo', { version: '1', initial: ['first'] })
    deepEqual(slot.value, ['first'])
    for (let i = 0; i < 5; i++) await slot.set([...slot.value, `item ${i}`])
    await session.slot('big', { version: '1', initial: '' }).set('ö'.repeat(200_000))
    await session.close()
    await using again = await (await place.open()).resume(session.id)
    deepEqual(again.slot('todo', { version: '1', initial: [''] }).value.length, 6)
    equal(again.slot('big', { version: '1', initial: '' }).value, 'ö'.repeat(200_000))
    deepEqual((await (await store.inspect(session.id)).slots()).todo, {
      version: '1',
      value: ['first', 'item 0', 'item 1', 'item 2', 'item 3', 'item 4'],
    })
  },
  async 'changing the value of a slot in place keeps nothing'(store) {
    const session = await store.create()
    const options = { version: '1', initial: ['first'] }
    await session.slot('todo', options).set(['a'])
    await session.close()
    const again = await store.resume(session.id)
    again.slot('todo', options).value.push('b')
    again.slot('todo', { ...options, version: '2', drift: 'warn' }).value.push('c')
    await again.append({ type: 'note' })
    await again.close()
    await using third = await store.resume(session.id)
    deepEqual(third.slot('todo', options).value, ['a'])
  },
  async 'a slot of another version is migrated, taken with a warning, or refused'(store) {
    const session = await store.create()
    await session.slot('s', { version: '1', initial: 0 }).set(20)
    await session.close()
    await using again = await store.resume(session.id)
    const open = (options: object): number =>
      again.slot<number>('s', { version: '2', initial: 0, ...options }).value
    throws(() => open({}), coded('SLOT_DRIFT'))
    throws(() => open({ drift: 'reject', migrate: () => 1 }), coded('SLOT_DRIFT'))
    throws(() => open({ drift: 'migrate' }), coded('SLOT_DRIFT'))
    throws(
      () =>
        open({
          migrate: () => {
            throw new Error('no')
          },
        }),
      coded('SLOT_DRIFT'),
    )
    deepEqual(again.warnings, [])
    equal(open({ drift: 'warn' }), 20)
    equal(again.warnings.length, 1)
    const migrated = again.slot<number>('s', {
      version: '2',
      initial: 0,
      migrate: (value, version) => Number(value) + Number(version),
    })
    equal(migrated.value, 21)
    await migrated.set(migrated.value)
    equal(open({ drift: 'reject' }), 21)
  },
  async 'a slot that was reset has its new version and value'(store) {
    await using session = await store.create()
    await session.slot('s', { version: '1', initial: 0 }).set(1)
    await session.resetSlot('s', '2', { a: 1 })
    deepEqual(session.slot('s', { version: '2', initial: {} }).value, { a: 1 })
    throws(() => session.slot('', { version: '1', initial: 0 }), coded('ARG_ERROR'))
    throws(() => session.slot('a\nb', { version: '1', initial: 0 }), coded('ARG_ERROR'))
  },
  async 'turns are counted, and a turn takes a snapshot when the policy says so'(store, place) {
    const { snapshots: kept = true } = place
    const policies = [
      [{ minBytes: 0, minRecords: 0 }, [true, true]],
      [{ minBytes: 1 << 30, minRecords: 3 }, [false, true]],
      [{ minBytes: 5000, minRecords: 1 << 30 }, [false, true]],
      [{ at: 'critical', minBytes: 0, minRecords: 0 }, [false, false]],
      [{ at: 'never', minBytes: 0, minRecords: 0 }, [false, false]],
    ] as const
    for (const [snapshots, expected] of policies) {
      const session = await store.create({ snapshots })
      const first = await session.turn({ cost: 1 })
      await session.append({ type: 'note', data: 'x'.repeat(6000) })
      const second = await session.turn()
      deepEqual([first.turn, second.turn, second.seq], [1, 2, 3])
      deepEqual([first.snapshot, second.snapshot], kept ? expected : [false, false])
      await session.close()
      await using again = await store.resume(session.id)
      equal(again.turns, 2)
    }
  },
  async 'an explicit snapshot ignores the policy, and a resume replays only what came later'(store, place) {
    const { snapshots: kept = true } = place
    for (const at of ['turn', 'critical', 'never'] as const) {
      const session = await store.create({ snapshots: { at } })
      for (let i = 0; i < 50; i++) await session.append({ type: 'note', data: i })
      await session.snapshot()
      for (let i = 0; i < 3; i++) await session.append({ type: 'note', data: i })
      const other = await place.open()
      await other.unlock(session.id)
      await using again = await other.resume(session.id)
      const { snapshot, replayed } = again.report
      deepEqual([snapshot, replayed, again.lastSeq], kept ? [50, 3, 53] : [undefined, 53, 53])
      await session.close().catch(() => {})
    }
  },
  async 'an event that the policy calls critical takes a snapshot when it is recorded'(store, place) {
    const { snapshots: kept = true } = place
    const isDeploy = ({ type, data }: { type: string; data?: unknown }): boolean =>
      type === 'step' && data === 'deploy'
    for (const critical of [['deploy', 'approval'], isDeploy]) {
      const session = await store.create({ snapshots: { at: 'critical', critical } })
      const other = await place.open()
      const event = typeof critical === 'function' ? { type: 'step', data: 'deploy' } : { type: 'deploy' }
      await session.append({ type: 'step', data: 'build' })
      const seqs = await Promise.all([session.append(event), session.append(event)])
      deepEqual(await valuesOf(seqs, 'seq'), [2, 3])
      await session.turn()
      await session.append(event)
      await session.turn()
      await other.unlock(session.id)
      await using again = await other.resume(session.id)
      const { snapshot, replayed } = again.report
      deepEqual([snapshot, replayed], kept ? [5, 1] : [undefined, 6])
      await session.close().catch(() => {})
    }
    await rejects('ARG_ERROR', store.create({ snapshots: { critical: 'deploy' as never } }))
  },
  async 'a resumed session has the same state with and without snapshots'(store, place) {
    for (let seed = 1; seed <= 6; seed++) {
      const states = []
      for (const snapshots of [{ minBytes: 0, minRecords: 0 }, { at: 'never' as const }]) {
        const session = await store.create({ snapshots })
        await doAnything(session, randomFrom(seed))
        const other = await place.open()
        await other.unlock(session.id)
        await session.close().catch(() => {})
        const again = await other.resume(session.id)
        const { turns, lastSeq } = again
        const unsettled = again.unsettled().map(({ action, key }) => [action, key])
        const slots = await (await store.inspect(session.id)).slots()
        states.push({ turns, lastSeq, unsettled, slots })
        await again.close()
      }
      ok((states[0]?.lastSeq ?? 0) > 0)
      deepEqual(states[0], states[1])
    }
  },
  async 'a slot whose new value cannot be written keeps the old one'(store) {
    await using session = await store.create()
    const slot = session.slot<unknown>('s', { version: '1', initial: 1 })
    await slot.set(2)
    const circle: { self?: unknown } = {}
    circle.self = circle
    for (const lossy of [circle, undefined, [Number.NaN], { of: new Map() }, () => {}])
      await rejects('ARG_ERROR', slot.set(lossy), session.resetSlot('s', '1', lossy))
    await fails(slot.set({ of: [new Set()] }), { message: /^value\.of\[0\] is of the type Set/ })
    equal(slot.value, 2)
    await rejects('ARG_ERROR', session.resetSlot('no such name!', '1', 0))
  },
}

async function doAnything(session: Session, random: (below: number) => number): Promise<void> {
  const lazy: Promise<unknown>[] = []
  for (let i = 0; i < 30; i++) {
    const what = random(6)
    const ext = `slot-${random(3)}`
    const version = String(random(2))
    if (what === 0) await session.append({ type: 'note', data: 'x'.repeat(random(300)) })
    if (what === 1) await session.slot<unknown>(ext, { version, initial: 0, drift: 'warn' }).set({ i, ext })
    if (what === 2) await session.turn()
    if (what === 3) await session.act({ action: 'act', key: `key-${i}` }, () => i)
    if (what === 4)
      await session.audit({ action: 'begun', phase: 'intent', act: `act-${i}`, key: `open-${i}` })
    // Not awaited: it is committed together with the next record.
    if (what === 5) lazy.push(session.append({ type: 'lazy', data: i }, { durable: false }))
  }
  await Promise.all(lazy)
}
