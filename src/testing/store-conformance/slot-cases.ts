import { deepEqual, equal, ok } from 'node:assert/strict'
import type { Session } from '../../session/index.ts'
import { randomFrom, rejects, type StoreCases, valuesOf } from '../conformance-case.ts'

/** Slots, turns and snapshots. */
export const slotCases: StoreCases = {
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
  async 'turns are counted, and a turn takes a snapshot when the policy says so'(store) {
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
      deepEqual([first.snapshot, second.snapshot], expected)
      await session.close()
      await using again = await store.resume(session.id)
      equal(again.turns, 2)
    }
  },
  async 'an explicit snapshot ignores the policy, and a resume replays only what came later'(store, place) {
    for (const at of ['turn', 'critical', 'never'] as const) {
      const session = await store.create({ snapshots: { at } })
      for (let i = 0; i < 50; i++) await session.append({ type: 'note', data: i })
      await session.snapshot()
      for (let i = 0; i < 3; i++) await session.append({ type: 'note', data: i })
      const other = await place.open()
      await other.unlock(session.id)
      await using again = await other.resume(session.id)
      const { snapshot, replayed } = again.report
      deepEqual([snapshot, replayed, again.lastSeq], [50, 3, 53])
      await session.close().catch(() => {})
    }
  },
  async 'an event that the policy calls critical takes a snapshot when it is recorded'(store, place) {
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
      deepEqual([snapshot, replayed], [5, 1])
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
