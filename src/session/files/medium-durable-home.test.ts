import { readdirSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { World } from '../../../test/support/world.ts'
import { type Disk, nodeDisk } from '../../base/fs/disk.ts'
import { createStore } from '../create-store.ts'
import { FilesMedium } from './medium.ts'

let world: World
let home: string
beforeEach(() => {
  world = new World()
  home = join(world.tmp, 'home')
})
afterEach(() => world[Symbol.asyncDispose]())

const storeOn = (disk: Disk) => createStore(new FilesMedium({ home }, disk))

test('the home and its sessions directory are synced before create resolves', async () => {
  // The directory of the session is synced before it gets its name.
  const synced: number[] = []
  const syncDirectory = (path: string): void => {
    synced.push(statSync(path).ino)
    nodeDisk.syncDirectory(path)
  }
  await using session = await storeOn({ ...nodeDisk, syncDirectory }).create()
  const sessions = join(home, 'sessions')
  const inodes = [dirname(home), home, sessions, join(sessions, session.id)].map((path) => statSync(path).ino)
  expect(synced).toEqual(expect.arrayContaining(inodes))
})

test('a session with one event takes seven syncs, and a visit that adds another takes one', async () => {
  let syncs = 0
  const counted = <Args extends unknown[]>(sync: (...args: Args) => void): ((...args: Args) => void) => {
    return (...args) => {
      syncs += 1
      sync(...args)
    }
  }
  const sync = counted(nodeDisk.sync)
  const store = storeOn({ ...nodeDisk, sync, syncDirectory: counted(nodeDisk.syncDirectory) })
  // The first session of a store also syncs the name of the home.
  await (await store.create()).close()
  syncs = 0
  const session = await store.create({ id: 'short' })
  await session.append({ type: 'note' })
  await session.close()
  expect(syncs).toBe(7)
  await store.visit('short', (visit) => visit.append({ type: 'note' }))
  expect(syncs).toBe(8)
})

test('a session whose first file cannot be created does not exist, and can be created later', async () => {
  let full = true
  const create = (path: string): number => {
    if (full && path.endsWith('journal.log')) throw Object.assign(new Error('ENOSPC'), { code: 'ENOSPC' })
    return nodeDisk.create(path)
  }
  const store = storeOn({ ...nodeDisk, create })
  await expect(store.create({ id: 'one' })).rejects.toMatchObject({ code: 'DISK_FULL' })
  expect(readdirSync(join(home, 'sessions')).filter((name) => !name.startsWith('.'))).toEqual([])
  full = false
  await using session = await store.create({ id: 'one' })
  expect(session.id).toBe('one')
})

test('a session whose logs could not be closed can be resumed', async () => {
  let failing = false
  const truncate = (file: number, length: number): void => {
    if (failing) throw Object.assign(new Error('EIO'), { code: 'EIO' })
    nodeDisk.truncate(file, length)
  }
  const store = storeOn({ ...nodeDisk, truncate })
  const session = await store.create({ id: 'one' })
  // From the second group on, the file is filled ahead, and a close cuts that off.
  for (const data of [1, 2]) await session.append({ type: 'message', data })
  failing = true
  await expect(session.close()).rejects.toMatchObject({ code: 'DISK_FAILED' })
  failing = false
  await using again = await store.resume('one')
  expect(again.lastSeq).toBe(2)
})
