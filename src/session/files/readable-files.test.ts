import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { World } from '../../../test/support/world.ts'
import { type Disk, nodeDisk } from '../../base/fs/disk.ts'
import { createStore } from '../create-store.ts'
import type { Inspection, SessionStore } from '../store.ts'
import { FilesMedium, filesystemStore } from './medium.ts'

let world: World
let home: string
beforeEach(() => {
  world = new World()
  home = join(world.tmp, 'home')
})
afterEach(() => world[Symbol.asyncDispose]())

/** A store on a disk that counts the bytes that are read. */
function countingStore(): { store: SessionStore; bytesRead: () => number } {
  let bytes = 0
  const disk: Disk = {
    ...nodeDisk,
    read(file, into, position) {
      const read = nodeDisk.read(file, into, position)
      bytes += read
      return read
    },
  }
  return { store: createStore(new FilesMedium({ home }, disk)), bytesRead: () => bytes }
}

const newest: Record<string, (inspection: Inspection) => Promise<unknown>> = {
  'the slots': async (inspection) => (await inspection.slots()).count?.value,
  'the acts without an outcome': async (inspection) => (await inspection.unsettled())[0]?.action,
  'the last event': async (inspection) => (await inspection.tail(1))[0]?.data,
  'the newest event of a type': async (inspection) => (await inspection.tail(1, { type: 'mark' }))[0]?.data,
  async 'the first event from the end'(inspection) {
    for await (const { data } of inspection.events({ newestFirst: true })) return data
    return undefined
  },
}
const expected = [12, 'deploy', 'last', 'mark', 'last']

test.each(['held', 'closed'])(
  'the newest state of a long session that is %s is read without all of it',
  async (state) => {
    const session = await filesystemStore({ home }).create({ id: 'long' })
    const count = session.slot('count', { version: '1', initial: 0 })
    const batch = Array.from({ length: 1000 }, () => ({ type: 'note', data: 'x'.repeat(500) }))
    await session.audit({ action: 'deploy', phase: 'intent', act: 'act_1' })
    for (let n = 1; n <= 12; n++) {
      await session.append(batch)
      await count.set(n)
    }
    await session.append([
      { type: 'mark', data: 'mark' },
      { type: 'note', data: 'last' },
    ])
    if (state === 'closed') await session.close()
    const { store, bytesRead } = countingStore()
    const inspection = await store.inspect('long')
    expect(inspection.summary.bytes).toBeGreaterThan(6e6)
    for (const [i, read] of Object.values(newest).entries()) {
      const before = bytesRead()
      expect(await read(inspection)).toBe(expected[i])
      // The slots and acts need what came after the newest snapshot: at most 5,000 records.
      expect(bytesRead() - before).toBeLessThan(i < 2 ? 4e6 : 6e5)
    }
    if (state === 'held') await session.close()
  },
)
