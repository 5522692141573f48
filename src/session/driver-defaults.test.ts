import { beforeEach, expect, test } from 'vitest'
import { type Memory, memoryStore } from '../../examples/driver/memory-store.ts'
import type { DriverStore } from './create-store.ts'
import { forkByCopying, idsOf } from './driver-defaults.ts'
import type { StoreDriver } from './driver.ts'
import { newManifest } from './manifest.ts'
import type { SessionStore } from './store.ts'

let memory: Memory
let store: SessionStore
beforeEach(() => {
  memory = new Map()
  store = memoryStore(memory)
})

async function createWith(id: string, records: number): Promise<void> {
  const session = await store.create({ id })
  for (let n = 1; n <= records; n++) await session.append({ type: 'note', data: n })
  await session.close()
}

test('a fork whose copying was interrupted is not taken for a whole one', async () => {
  await createWith('origin', 5)
  await (await store.fork('origin', { id: 'fork' })).close()
  const fork = memory.get('fork')
  fork?.manifest.revisions.pop()
  fork?.journal.splice(3)
  await expect(store.resume('fork')).rejects.toMatchObject({ code: 'JOURNAL_CORRUPT' })
  expect((await store.inspect('fork')).summary.state).toBe('closed')
  const health = await (await store.inspect('fork')).health()
  expect(health.ok).toBe(false)
  expect(health.journal).toMatchObject({
    state: 'damaged',
    lastSeq: 3,
    findings: ['it ends at record 3, and record 5 is attested'],
  })
})

test('a fork that cannot be finished is removed', async () => {
  await createWith('origin', 3)
  const { driver: real } = store as DriverStore
  const failing: StoreDriver = {
    ...real,
    async create(manifest, hold, guard) {
      const held = await real.create(manifest, hold, guard)
      held.append = () => Promise.reject(new Error('no room'))
      return held
    },
  }
  const manifest = newManifest('fork', 'memory', Date.now())
  await expect(forkByCopying(failing, 'origin', undefined, () => manifest)).rejects.toThrow('no room')
  expect([...memory.keys()]).toEqual(['origin'])
})

test('a fork has the audit lines that were written up to its last record, with their times and hashes', async () => {
  const session = await store.create({ id: 'origin' })
  await session.audit({ action: 'before' })
  await session.append({ type: 'note' })
  await session.append({ type: 'later' })
  await session.audit({ action: 'after' })
  await session.close()
  const origin = memory.get('origin')
  const [, later] = origin?.journal ?? []
  const [before, after] = origin?.audit ?? []
  // As if time had passed between the records.
  if (later !== undefined) later.at += 10
  if (after !== undefined) after.at += 10
  await (await store.fork('origin', { id: 'early', at: 1 })).close()
  await (await store.fork('origin', { id: 'all' })).close()
  expect(memory.get('early')?.audit).toEqual([before])
  expect(memory.get('all')?.audit).toHaveLength(2)
  expect((await (await store.inspect('early')).health()).ok).toBe(true)
})

test.each([
  [
    'changed',
    (lines: { json: string }[]) => lines.splice(1, 1, { ...lines[1], json: '{"action":"other"}' } as never),
  ],
  ['removed', (lines: unknown[]) => lines.splice(1, 1)],
  ['exchanged', (lines: unknown[]) => lines.splice(1, 2, lines[2], lines[1])],
])('an audit line that was %s is found', async (_, tamper) => {
  const session = await store.create({ id: 'a' })
  for (const action of ['one', 'two', 'three', 'four']) await session.audit({ action })
  await session.close()
  tamper(memory.get('a')?.audit as never)
  const { audit, ok } = await (await store.inspect('a')).health()
  expect(ok).toBe(false)
  expect(audit).toMatchObject({
    state: 'damaged',
    records: 1,
    findings: [expect.stringContaining('is not the one')],
  })
})

test('ids are found by a prefix, with or without ses_', async () => {
  for (const id of ['ses_01A', 'ses_01B', '01C', 'other']) await createWith(id, 0)
  const { driver: filled } = store as DriverStore
  expect(await idsOf(filled, '01')).toEqual(['01C', 'ses_01A', 'ses_01B'])
  expect(await idsOf(filled)).toHaveLength(4)
})
