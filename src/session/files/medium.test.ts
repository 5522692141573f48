import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { World } from '../../../test/support/world.ts'
import { nodeDisk } from '../../base/fs/disk.ts'
import { createStore } from '../create-store.ts'
import type { SessionStore } from '../store.ts'
import { FilesMedium, filesystemStore } from './medium.ts'

let world: World
let store: SessionStore
beforeEach(() => {
  world = new World()
  store = filesystemStore({ home: join(world.tmp, 'home') })
})
afterEach(() => world[Symbol.asyncDispose]())

test('a closed session resumes with everything it had', async () => {
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
  expect(await again.act({ action: 'shell', subject: 'ls', key: 'k' }, () => 43)).toBe(42)
  expect(await again.tail(5)).toMatchObject([{ type: 'message' }])
  await again.close()
  expect((await store.list())[0]).toMatchObject({ id, state: 'closed' })
  expect((await (await store.inspect(id)).health()).ok).toBe(true)
})

test('an outcome that is recorded while the first act with a key reads the audit log is not missed', async () => {
  const session = await store.create()
  await session.audit({ action: 'pay', phase: 'intent', act: 'act_1', key: 'k' })
  await session.close()
  let onAuditRead = (): void => {}
  const openToRead = (path: string): number => {
    if (path.endsWith('audit.log')) onAuditRead()
    return nodeDisk.openToRead(path)
  }
  const disk = { ...nodeDisk, openToRead }
  await using again = await createStore(new FilesMedium({ home: join(world.tmp, 'home') }, disk)).resume(
    session.id,
  )
  let settled: Promise<void> | undefined
  const [open] = again.unsettled()
  onAuditRead = () => (settled ??= open?.settle({ ok: true, result: 'paid' }))
  await again.act({ action: 'look', key: 'first' }, () => 1)
  await settled
  expect(settled).toBeDefined()
  expect(await again.act({ action: 'pay', key: 'k' }, () => 'paid twice')).toBe('paid')
})

test('a writer that knows that it is fenced rejects large data too, and writes no blob', async () => {
  const lost = await store.create({ id: 'lost' })
  await store.unlock('lost')
  const append = (size: number) => lost.append({ type: 'm', data: 'x'.repeat(size) })
  await expect(append(1)).rejects.toMatchObject({ code: 'FENCED' })
  await expect(append(300_000)).rejects.toMatchObject({ code: 'FENCED' })
  expect(readdirSync(join(world.tmp, 'home/sessions/lost'))).not.toContain('blobs')
})

test('a session in which damage was noted before the last snapshot cannot be resumed or visited', async () => {
  const session = await store.create({ id: 'old' })
  for (const n of [1, 2, 3]) await session.append({ type: 'message', data: { n } })
  await session.close()
  const path = join(world.tmp, 'home/sessions/old/journal.log')
  writeFileSync(path, readFileSync(path, 'utf8').replace('{"n":1}', '{"n":7}'))
  // Nothing has verified the session yet, and a resume begins with the snapshot.
  await (await store.resume('old')).close()
  const health = await (await store.inspect('old')).health()
  expect(health).toMatchObject({ ok: false, journal: { state: 'damaged' } })
  await new FilesMedium({ home: join(world.tmp, 'home') }).noteDamage('old', 'a record was changed')
  await expect(store.resume('old')).rejects.toMatchObject({ code: 'JOURNAL_CORRUPT' })
  await expect(store.visit('old', (visit) => visit.append({ type: 'note' }))).rejects.toMatchObject({
    code: 'JOURNAL_CORRUPT',
  })
  expect(await store.list()).toMatchObject([{ id: 'old', state: 'damaged' }])
})

test('a session that cannot be created leaves nothing behind', async () => {
  const home = join(world.tmp, 'home')
  await (await store.create()).close()
  const before = readdirSync(join(home, 'sessions'))
  const full = (path: string): number => {
    throw Object.assign(new Error('no space left'), { code: 'ENOSPC', path })
  }
  const onFullDisk = createStore(new FilesMedium({ home }, { ...nodeDisk, create: full }))
  await expect(onFullDisk.create()).rejects.toMatchObject({ code: 'DISK_FULL' })
  expect(readdirSync(join(home, 'sessions'))).toEqual(before)
})

test('a session that refers to a secret in an unreadable file resumes, and is not left locked', async () => {
  const session = await store.create({ secrets: [{ kind: 'file', name: `/${'x'.repeat(300)}` }] })
  await session.close()
  for (let i = 0; i < 2; i++) await (await store.resume(session.id)).close()
  expect(await store.list()).toMatchObject([{ state: 'closed' }])
})
