import { deepEqual, equal, rejects as fails, throws } from 'node:assert/strict'
import { rejects, type StoreCases } from '../../../src/testing/conformance-case.ts'

const coded = (code: string) => (error: unknown) => (error as { code?: string }).code === code

/** The values and versions of slots. */
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
