import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { World } from '../../../test/support/world.ts'
import type { SessionStore } from '../store.ts'
import { filesystemStore } from './store.ts'

let world: World
let store: SessionStore
beforeEach(() => {
  world = new World()
  store = filesystemStore({ home: join(world.tmp, 'home') })
})
afterEach(() => world[Symbol.asyncDispose]())

test('a session that was closed resumes with everything it had', async () => {
  const session = await store.create({ tool: 'test', title: 'first' })
  const { id } = session
  const { seq } = await session.append({ type: 'message', data: { text: 'hello' } })
  expect(seq).toBe(1)
  const slot = session.slot<string[]>('todo', { version: '1', initial: [] })
  await slot.set([...slot.value, 'a'])
  await session.act({ action: 'shell', subject: 'ls', key: 'k' }, () => 42)
  await session.turn()
  await session.close()
  const again = await store.resume(id)
  expect(again.slot<string[]>('todo', { version: '1', initial: [] }).value).toEqual(['a'])
  expect(again.turns).toBe(1)
  expect(await again.act({ action: 'shell', key: 'k' }, () => 43)).toBe(42)
  expect(await again.tail(5)).toMatchObject([{ type: 'message' }])
  await again.close()
  expect((await store.list())[0]).toMatchObject({ id, state: 'closed', turns: 1 })
  expect((await (await store.inspect(id)).health()).ok).toBe(true)
})
