import { deepEqual, equal, match, throws } from 'node:assert/strict'
import type { CreateOptions } from '../../../src/session/index.ts'
import { collect, rejects, type StoreCases, valuesOf } from '../../../src/testing/conformance-case.ts'

const oddKeys = [
  'thread 1',
  '../../etc/passwd',
  '__proto__',
  'a\0b\nc"\\',
  'caf\u00e9',
  // Looks the same, and is another key.
  'cafe\u0301',
  '🧵 пряжа 糸',
  'ключ'.repeat(512),
]

/** Sessions by key, and labels. */
export const nameCases: StoreCases = {
  async 'a session has any string as its key, and returns it as it was given'(store, place) {
    const other = await place.open()
    for (const key of oddKeys) {
      await using session = await store.create({ key })
      match(session.id, /^key_[0-9a-f]{64}$/)
      deepEqual([session.manifest.key, (await other.inspect({ key })).summary.key], [key, key])
      await rejects('NAME_TAKEN', other.create({ key }))
      await rejects('SESSION_LOCKED', other.resume({ key }))
    }
    const listed = await other.list()
    deepEqual((await valuesOf(listed, 'key')).toSorted(), oddKeys.toSorted())
    equal(new Set(await valuesOf(listed, 'id')).size, oddKeys.length)
    deepEqual(await valuesOf(other.list({ keyPrefix: '..' }), 'key'), ['../../etc/passwd'])
  },
  async 'everything that takes the id of a session takes its key'(store) {
    const name = { key: 'users/ümit' }
    await store.visit(name, (visit) => visit.append({ type: 'visited' }), { create: {} })
    await (await store.resumeOrCreate(name)).close()
    await store.hold(name).use((session) => session.append({ type: 'held' }))
    await store.close()
    await using fork = await store.fork(name, { key: 'users/ümit/fork' })
    deepEqual([fork.lastSeq, fork.manifest.key], [2, 'users/ümit/fork'])
    for await (const { type } of store.follow(name, { from: 2 })) {
      equal(type, 'held')
      break
    }
    const session = await store.resume(name)
    await store.unlock(name)
    await rejects('FENCED', session.append({ type: 'late' }), session.close())
    deepEqual(await valuesOf(await collect((await store.inspect(name)).events()), 'type'), [
      'visited',
      'held',
    ])
    await store.remove(name)
    await rejects('NOT_FOUND', store.inspect(name), store.resume(name), store.remove(name))
    for (const created of [store.resumeOrCreate(name), store.create({ key: 'users/new' })])
      await (await created).close()
    await store.hold({ key: 'users/held' }, { create: {} }).close()
    deepEqual((await valuesOf(store.list({ keyPrefix: 'users/' }), 'key')).toSorted(), [
      'users/new',
      'users/ümit',
      'users/ümit/fork',
    ])
  },
  async 'a key that cannot be kept as it is is refused, and creates nothing'(store) {
    for (const key of ['', 'x'.repeat(4097), 'ü'.repeat(2049), '\ud83e', 5 as never]) {
      await rejects('ARG_ERROR', store.create({ key }), store.resumeOrCreate({ key }), store.inspect({ key }))
      throws(() => store.hold({ key }), { code: 'ARG_ERROR' })
    }
    await rejects('ARG_ERROR', store.create({ key: 'a', id: 'b' }))
    process.env.STINT_SUITE_KEY = 'correct horse battery'
    try {
      const secrets: CreateOptions['secrets'] = [{ kind: 'env', name: 'STINT_SUITE_KEY' }]
      await rejects('ARG_ERROR', store.create({ key: 'of correct horse battery', secrets }))
    } finally {
      delete process.env.STINT_SUITE_KEY
    }
    deepEqual(await store.list(), [])
  },
  async 'a list has the sessions with all of these labels; forks keep them'(store) {
    const make = async (id: string, labels?: Record<string, string>): Promise<void> => {
      await using session = await store.create({ id, labels })
      await session.append({ type: 'note' })
    }
    await make('a', { project: 'x', ['__proto__' as string]: 'odd', 'any name': 'ü' })
    await make('b', { project: 'x' })
    await make('c', { project: 'y' })
    await make('d')
    await (await store.fork('a', { id: 'e' })).close()
    const ids = async (labels: Record<string, string>): Promise<string[]> =>
      (await valuesOf(store.list({ labels }), 'id')).toSorted()
    deepEqual(await ids({ project: 'x' }), ['a', 'b', 'e'])
    deepEqual(await ids({ project: 'x', 'any name': 'ü' }), ['a', 'e'])
    deepEqual(await ids({ constructor: 'x' }), [])
    deepEqual((await ids({})).length, 5)
    deepEqual((await store.inspect('b')).summary.labels, { project: 'x' })
    const bad: unknown[] = [{ a: 1 }, { a: 'x'.repeat(257) }, ['x'], 'x']
    bad.push(Object.fromEntries(Array.from({ length: 33 }, (_, n) => [n, ''])))
    for (const labels of bad) await rejects('ARG_ERROR', store.create({ labels: labels as never }))
  },
}
