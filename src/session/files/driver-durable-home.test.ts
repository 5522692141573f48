import { readdirSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { World } from '../../../test/support/world.ts'
import { type Disk, nodeDisk } from '../../base/fs/disk.ts'
import { createStore } from '../create-store.ts'
import { FilesystemDriver } from './driver.ts'
import { exportSession } from './archive/export.ts'
import { importSession } from './archive/import.ts'
import { SessionsHome } from './session-directory.ts'

let world: World
let home: string
beforeEach(() => {
  world = new World()
  home = join(world.tmp, 'home')
})
afterEach(() => world[Symbol.asyncDispose]())

const storeOn = (disk: Disk) => createStore(new FilesystemDriver({ home }, disk))

test('the home and its sessions directory are synced before create resolves', async () => {
  const synced: string[] = []
  const syncDirectory = (path: string): void => {
    synced.push(path)
    nodeDisk.syncDirectory(path)
  }
  await using session = await storeOn({ ...nodeDisk, syncDirectory }).create()
  expect(synced).toEqual(expect.arrayContaining([dirname(home), home, join(home, 'sessions')]))
  expect(synced).toContain(join(home, 'sessions', session.id))
})

test('the home and its sessions directory are synced before an import resolves', async () => {
  const session = await storeOn(nodeDisk).create({ id: 'traveller' })
  await session.append({ type: 'note' })
  await session.close()
  const pieces: Uint8Array[] = []
  const write = (bytes: Uint8Array): void => void pieces.push(bytes)
  await exportSession(new SessionsHome(home), 'traveller', write)
  const [elsewhere, synced] = [join(world.tmp, 'elsewhere'), [] as string[]]
  const syncDirectory = (path: string): void => {
    synced.push(path)
    nodeDisk.syncDirectory(path)
  }
  const chunks = (async function* () {
    yield Buffer.concat(pieces)
  })()
  await importSession(new SessionsHome(elsewhere, { ...nodeDisk, syncDirectory }), chunks)
  expect(synced).toEqual(expect.arrayContaining([world.tmp, elsewhere, join(elsewhere, 'sessions')]))
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
  await session.append({ type: 'message', data: 1 })
  failing = true
  await expect(session.close()).rejects.toMatchObject({ code: 'DISK_FAILED' })
  failing = false
  await using again = await store.resume('one')
  expect(again.lastSeq).toBe(1)
})
