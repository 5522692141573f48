import { join } from 'node:path'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { type Memory, memoryMedium, memoryStore } from '../../examples/driver/memory-store.ts'
import { useManySessions } from '../../test/support/session-uses.ts'
import { projectRoot, until, World } from '../../test/support/world.ts'
import { createStore } from './create-store.ts'
import { filesystemStore } from './files/medium.ts'
import type { HeldMedium, Medium } from './medium.ts'
import type { SessionStore } from './store.ts'

let world: World
beforeEach(() => {
  world = new World()
})
afterEach(() => world[Symbol.asyncDispose]())

/** A store in memory; `change` changes what its medium does with a held session. */
function changedStore(change: (held: HeldMedium) => void, memory: Memory = new Map()): SessionStore {
  const real = memoryMedium(memory)
  const changed = async (taking: Promise<HeldMedium>): Promise<HeldMedium> => {
    const held = await taking
    change(held)
    return held
  }
  const medium: Medium = {
    ...real,
    create: (...given) => changed(real.create(...given)),
    open: (...given) => changed(real.open(...given)),
  }
  return createStore(medium)
}

/** Cannot record the close of a session. */
const withoutClose = (held: HeldMedium): void => {
  const saveManifest = held.saveManifest.bind(held)
  held.saveManifest = (manifest) =>
    manifest.revisions.at(-1)?.kind === 'close'
      ? Promise.reject(new Error('no room'))
      : saveManifest(manifest)
}

test('a program that uses 130 sessions with 256 open files, and just ends, leaves all of them closed', async () => {
  await expect(useManySessions(130, 140)).resolves.toBeUndefined()
})

test('three programs that use one session at the same time take turns, and nothing is lost', async () => {
  const home = join(world.tmp, 'home')
  const program = join(projectRoot, 'test/fixtures/session-uses.mjs')
  const start = (name: string) => world.start(process.execPath, [program, home, name, '1', '300']).finished
  const ended = await Promise.all(['one', 'two', 'three'].map(start))
  expect(ended).toMatchObject(ended.map(() => ({ code: 0, stderr: '' })))
  const { summary } = await filesystemStore({ home }).inspect('s0')
  expect(summary).toMatchObject({ state: 'closed', records: 900 })
})

test('the caller of a close hears that it failed', async () => {
  const store = changedStore(withoutClose)
  const held = store.hold('a', { create: {}, onWarning: () => expect.unreachable() })
  await held.use((session) => session.append({ type: 'note' }))
  await expect(held.close()).rejects.toThrow('no room')
  await held.use(() => {})
  await store.hold('b', { create: {} }).use(() => {})
  await expect(store.close()).rejects.toMatchObject({
    errors: [{ message: 'no room' }, { message: 'no room' }],
  })
  await expect(store.close()).resolves.toBeUndefined()
})

test('a close that fails while no caller waits for it is a warning, and the next use opens the session again', async () => {
  const onWarning = vi.fn<(message: string) => void>()
  const store = changedStore(withoutClose)
  const held = store.hold('a', { idle: 0, create: {}, onWarning })
  await held.use((session) => session.append({ type: 'note' }))
  await until('the warning', () => onWarning.mock.calls.length > 0)
  expect(onWarning).toHaveBeenCalledExactlyOnceWith('session a was not closed cleanly: no room')
  expect(await held.use((session) => session.append({ type: 'note' }))).toMatchObject({ seq: 2 })
})

test('a use that may wait longer than the one that has failed to open the session goes on waiting', async () => {
  const memory: Memory = new Map()
  const holder = await memoryStore(memory).create({ id: 'a' })
  const store = memoryStore(memory)
  const short = store.hold('a', { wait: 1 }).use(() => 'short')
  const long = store.hold('a', { wait: '1m' }).use(() => 'long')
  await expect(short).rejects.toMatchObject({ code: 'SESSION_LOCKED' })
  await holder.close()
  await expect(long).resolves.toBe('long')
  await store.close()
})

test('a session that its own use has closed is opened again by the next use', async () => {
  const store = memoryStore()
  const held = store.hold('a', { create: {} })
  await held.use((session) => session.close())
  await expect(held.use((session) => session.append({ type: 'note' }))).rejects.toMatchObject({
    code: 'SESSION_CLOSED',
  })
  expect(await held.use((session) => session.append({ type: 'note' }))).toMatchObject({ seq: 1 })
  await store.close()
})

test('sessions that all wait for others inside their uses do not wait for ever', async () => {
  const store = memoryStore()
  const use = (n: number) =>
    store.hold(`outer${n}`, { create: {} }).use(() => store.hold(`inner${n}`, { create: {} }).use(() => n))
  const all = await Promise.all(Array.from({ length: 100 }, (_, n) => use(n)))
  expect(all).toHaveLength(100)
  await store.close()
})
