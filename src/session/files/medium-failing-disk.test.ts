import { execFileSync } from 'node:child_process'
import {
  appendFileSync,
  existsSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { type CommitWay, commitWays, diskFor } from '../../../test/support/later-turns.ts'
import { SessionWorld } from '../../../test/support/session-world.ts'
import { stintBin } from '../../../test/support/world.ts'
import { type Disk, nodeDisk } from '../../base/fs/disk.ts'
import { createStore } from '../create-store.ts'
import type { SessionStore } from '../store.ts'
import { FilesMedium } from './medium.ts'

let world: SessionWorld
beforeEach(() => {
  world = new SessionWorld()
})
afterEach(() => world[Symbol.asyncDispose]())

let way: CommitWay = 'on the event loop'

function storeOn(changed: Partial<Disk>): SessionStore {
  const disk = { ...nodeDisk, ...changed }
  return createStore(new FilesMedium({ home: world.home }, diskFor(way, disk)))
}

const fault = (code: string): Error => Object.assign(new Error(code), { code })

/** A disk that, while `failing` is set, cannot open files whose paths contain this. */
function blindTo(part: string): Partial<Disk> & { failing: boolean } {
  const disk = {
    failing: false,
    openToRead(path: string): number {
      if (disk.failing && path.includes(part)) throw fault('EMFILE')
      return nodeDisk.openToRead(path)
    },
  }
  return disk
}

const openFiles = (): number => readdirSync('/proc/self/fd').length

describe.each(commitWays)('%s', (each) => {
  beforeEach(() => {
    way = each
  })

  test('a creator that was suspended leaves the session to the process that it was unlocked for', async () => {
    let isSuspended = false
    const open = (path: string): number => {
      if (basename(path) === 'journal.log' && !isSuspended) {
        isSuspended = true
        const stint = (...args: string[]) =>
          execFileSync(process.execPath, [stintBin, 'sessions', ...args], { env: world.env })
        stint('unlock', 'mine', '--yes')
        stint('append', 'mine', '--type', 'note', '--data', '1')
      }
      return nodeDisk.open(path)
    }
    const session = await storeOn({ open }).create({ id: 'mine' })
    await expect(session.append({ type: 'note' })).rejects.toMatchObject({ code: 'FENCED' })
    expect(await world.store.list()).toMatchObject([{ id: 'mine', records: 1 }])
  })

  test('an audit log that could not be read once does not make later acts fail', async () => {
    const disk = blindTo('audit.log')
    await using session = await storeOn(disk).create()
    await session.act({ action: 'pay', key: 'a' }, () => 1)
    await session.close()
    await using again = await storeOn(disk).resume(session.id)
    disk.failing = true
    const pay = (): Promise<number> => again.act({ action: 'pay', key: 'a' }, () => 2)
    await expect(pay()).rejects.toMatchObject({ code: 'TOO_MANY_FILES' })
    disk.failing = false
    expect(await pay()).toBe(1)
    await again.audit({ action: 'note' })
    await again.close()
  })

  test('a blob that cannot be opened at the moment is not reported as damaged', async () => {
    const disk = blindTo('/blobs/')
    const store = storeOn(disk)
    const session = await store.create()
    await session.slot('large', { version: '1', initial: '' }).set('x'.repeat(300_000))
    await session.close()
    rmSync(world.path(session.id, 'snapshot.json'))
    disk.failing = true
    await expect((await store.inspect(session.id)).health()).rejects.toMatchObject({ code: 'TOO_MANY_FILES' })
    await expect(store.resume(session.id)).rejects.toMatchObject({ code: 'TOO_MANY_FILES' })
    disk.failing = false
    expect(await (await store.inspect(session.id)).health()).toMatchObject({ ok: true })
    await using again = await store.resume(session.id)
    expect(again.slot('large', { version: '1', initial: '' }).value).toHaveLength(300_000)
  })

  test('a failed open reports its cause even if the lock cannot be restored', async () => {
    const id = await world.make('damaged')
    const journal = world.path(id, 'journal.log')
    writeFileSync(journal, readFileSync(journal, 'utf8').replace('"n":1', '"n":7'))
    rmSync(world.path(id, 'snapshot.json'))
    // Another process takes the lock while this one reads.
    const openToRead = (path: string): number => {
      const locks = readdirSync(world.path(id, 'lock')).map(Number)
      if (path === journal) symlinkSync('x', world.path(id, 'lock', String(Math.max(...locks) + 1)))
      return nodeDisk.openToRead(path)
    }
    await expect(storeOn({ openToRead }).resume(id)).rejects.toMatchObject({ code: 'JOURNAL_CORRUPT' })
  })

  test.each([
    ['create', 'journal.log'],
    ['syncDirectory', 'sessions'],
  ] as const)(
    'a session that cannot be created because %s of %s fails leaves no file open',
    async (call, name) => {
      const store = storeOn({
        [call](path: string) {
          if (basename(path) === name) throw fault('ENOSPC')
          return nodeDisk[call](path)
        },
      })
      const before = openFiles()
      for (let i = 0; i < 3; i++) await expect(store.create()).rejects.toMatchObject({ code: 'DISK_FULL' })
      expect(openFiles()).toBe(before)
    },
  )

  test('a session that is removed while it is forked is not forked in part', async () => {
    const session = await world.store.create({ id: 'origin' })
    await session.append({ type: 'big', data: 'x'.repeat(300_000) })
    await session.close()
    const openToRead = (path: string): number => {
      // As another process removes it.
      if (basename(dirname(path)) === 'blobs' && existsSync(path))
        renameSync(world.path('origin'), join(world.tmp, 'trash'))
      return nodeDisk.openToRead(path)
    }
    await expect(storeOn({ openToRead }).fork('origin', { id: 'copy' })).rejects.toMatchObject({
      code: 'NOT_FOUND',
    })
    expect(await world.store.list()).toEqual([])
  })

  test('a visit that cannot give the session back keeps what it has acknowledged, and warns', async () => {
    const id = await world.make('visited', 1)
    let failing = true
    const truncate = (file: number, length: number): void => {
      if (failing) throw fault('ENOSPC')
      nodeDisk.truncate(file, length)
    }
    const warnings: string[] = []
    const onWarning = (message: string): void => void warnings.push(message)
    const store = storeOn({ truncate })
    // As a killed writer leaves its file: filled ahead with newlines, which the end of the visit cuts off.
    appendFileSync(world.path(id, 'journal.log'), '\n\n')
    const visiting = store.visit(
      id,
      async (visit) => {
        await visit.audit({ action: 'look' })
        return await visit.append({ type: 'note' })
      },
      { onWarning },
    )
    expect(await visiting).toEqual({ seq: 2, at: expect.any(Number) as number })
    expect(warnings).toMatchObject([expect.stringContaining('visited did not end cleanly')])
    // The caller gets its own error, whatever happens afterwards.
    const failed = store.visit(
      id,
      async (visit) => {
        await visit.audit({ action: 'look' })
        throw new Error('of the caller')
      },
      { onWarning },
    )
    await expect(failed).rejects.toThrow('of the caller')
    failing = false
    await using session = await store.resume(id)
    expect((await session.tail(5)).map(({ type }) => type)).toEqual(['message', 'note'])
  })

  test('a session whose close could not be recorded is not listed as closed, and can be resumed at once', async () => {
    let failing = false
    const rename = (from: string, to: string): void => {
      if (failing) throw fault('ENOSPC')
      nodeDisk.rename(from, to)
    }
    const store = storeOn({ rename })
    const session = await store.create({ id: 'full' })
    await session.turn()
    failing = true
    await expect(session.close()).rejects.toMatchObject({ code: 'DISK_FULL' })
    failing = false
    expect(await store.list()).toMatchObject([{ id: 'full', state: 'crashed' }])
    await using again = await store.resume('full')
    expect(again.turns).toBe(1)
    await again.close()
    expect(await store.list()).toMatchObject([{ id: 'full', state: 'closed' }])
  })

  test('a closed session whose resume fails on a full disk is still listed as closed', async () => {
    const id = await world.make('rested')
    const rename = (from: string, to: string): void => {
      if (basename(to) === 'manifest.json') throw fault('ENOSPC')
      nodeDisk.rename(from, to)
    }
    await expect(storeOn({ rename }).resume(id)).rejects.toMatchObject({ code: 'DISK_FULL' })
    expect(await world.store.list()).toMatchObject([{ id, state: 'closed', records: 3 }])
  })

  test('an append to a session whose directory was deleted is NOT_FOUND, also where a segment begins', async () => {
    let failing = false
    const write: Disk['write'] = (...args) => {
      if (failing) throw fault('ENOSPC')
      return nodeDisk.write(...args)
    }
    const session = await storeOn({ write }).create({ id: 'deleted' })
    failing = true
    await expect(session.append({ type: 'note' })).rejects.toMatchObject({ code: 'DISK_FULL' })
    failing = false
    rmSync(world.path('deleted'), { recursive: true })
    await expect(session.append({ type: 'note' })).rejects.toMatchObject({ code: 'NOT_FOUND' })
    await expect(session.close()).rejects.toMatchObject({ code: 'FENCED' })
  })

  /** A disk that cannot sync one directory. */
  const cannotSync = (directory: string): Partial<Disk> => ({
    syncDirectory(path) {
      if (path === directory) throw fault('EIO')
      nodeDisk.syncDirectory(path)
    },
  })

  test('if the home cannot be synced, a create fails with a code', async () => {
    await world.make('first')
    const store = storeOn(cannotSync(world.home))
    await expect(store.create()).rejects.toMatchObject({ code: 'DISK_FAILED' })
  })

  test('a session whose name cannot be synced does not exist', async () => {
    await world.make('origin')
    const store = storeOn(cannotSync(world.sessions))
    await expect(store.create({ id: 'new' })).rejects.toMatchObject({ code: 'DISK_FAILED' })
    await expect(store.fork('origin', { id: 'new' })).rejects.toMatchObject({ code: 'DISK_FAILED' })
    expect((await world.store.list()).map(({ id }) => id)).toEqual(['origin'])
    expect(readdirSync(world.sessions).filter((name) => name.startsWith('.new-'))).toEqual([])
    await (await world.store.create({ id: 'new' })).close()
  })

  test.each(['sessions', 'trash'])('a session is not removed if the %s cannot be synced', async (name) => {
    await world.make('mine')
    const store = storeOn(cannotSync(join(world.home, name)))
    await expect(store.remove('mine')).rejects.toMatchObject({ code: 'DISK_FAILED' })
    expect(readdirSync(join(world.home, 'trash'))).toEqual([])
    await (await world.store.resume('mine')).close()
  })

  test('if the manifest cannot be read, a remove and a visit fail with a code', async () => {
    await world.make('mine')
    const disk = blindTo('manifest.json')
    disk.failing = true
    await expect(storeOn(disk).remove('mine')).rejects.toMatchObject({ code: 'TOO_MANY_FILES' })
    const visiting = storeOn(disk).visit('mine', (visit) => visit.append({ type: 'note' }))
    await expect(visiting).rejects.toMatchObject({ code: 'TOO_MANY_FILES' })
  })

  test('a fork that cannot be opened says that it is made, and is not tried again', async () => {
    await world.make('origin')
    const disk = blindTo('/copy/manifest.json')
    disk.failing = true
    await expect(storeOn(disk).fork('origin', { id: 'copy' })).rejects.toMatchObject({
      code: 'TOO_MANY_FILES',
      message: expect.stringContaining('session copy is made, but cannot be opened') as string,
      retryable: false,
    })
    await (await world.store.resume('copy')).close()
  })

  test.each([
    ['may be tried again if nothing was written before', false],
    ['is not tried again if a record was written before', true],
  ])('a visit that fails %s', async (_, isWritten) => {
    await world.make('mine')
    let failing = false
    const store = storeOn({
      write(...args) {
        if (failing) throw fault('ENOSPC')
        return nodeDisk.write(...args)
      },
    })
    const visiting = store.visit('mine', async (visit) => {
      if (isWritten) await visit.append({ type: 'first' })
      failing = true
      await visit.append({ type: 'second' })
    })
    await expect(visiting).rejects.toMatchObject({ code: 'DISK_FULL', retryable: !isWritten })
  })
})
