import { crc32 } from 'node:zlib'
import { type Disk, readFile } from '../../src/base/fs/disk.ts'
import { formatChecksum } from '../../src/session/log/codec.ts'
import type { CrashDisk } from './crash-disk.ts'
import { type DirectDisk, passThrough } from './crash-mortal.ts'
import type { Wrap } from './crash-simulation.ts'

/** A store that lacks one of its precautions, as seen from the disk. The crash search must notice each. */
export interface Mutation {
  name: string
  /** Applied while sessions are written. */
  wrap?: Wrap
  /** Applied while sessions are recovered. */
  wrapRecovery?: Wrap
  /** The workload that shows it. */
  workload: string
  /** It shows only if a process is killed, and the power is cut during the next one. */
  killed?: boolean
}

/** A disk with some of its calls replaced. The replacements can look up the paths of open files. */
function changed(change: (real: DirectDisk, pathOf: (file: number) => string) => Partial<Disk>): Wrap {
  return (disk: CrashDisk) => {
    const paths = new Map<number, string>()
    const real = passThrough(disk)
    const remember = (open: (path: string) => number) => (path: string) => {
      const file = open(path)
      paths.set(file, path)
      return file
    }
    for (const call of ['create', 'open', 'openToRead'] as const) real[call] = remember(real[call])
    return { ...real, ...change(real, (file) => paths.get(file) ?? '') }
  }
}

const isLog = (path: string): boolean => path.endsWith('.log')
const isStagedSession = (path: string): boolean => path.startsWith('/sessions/.new-')

export const mutations: Mutation[] = [
  {
    name: 'a log that is not synced',
    workload: 'single appends',
    wrap: changed((real, pathOf) => ({
      sync: (file) => (isLog(pathOf(file)) ? undefined : real.sync(file)),
    })),
  },
  {
    name: 'an audit log that is not synced',
    workload: 'acts and notes',
    wrap: changed((real, pathOf) => ({
      sync: (file) => (pathOf(file).includes('/audit/') ? undefined : real.sync(file)),
    })),
  },
  {
    name: 'directories that are not synced',
    workload: 'single appends',
    wrap: changed(() => ({ syncDirectory: () => {} })),
  },
  {
    name: 'a new segment whose name is not synced',
    workload: 'segments that follow each other',
    wrap: changed((real) => ({
      syncDirectory: (path) => (path.endsWith('/one') ? undefined : real.syncDirectory(path)),
    })),
  },
  {
    name: 'a new session whose manifest is not synced before it is published',
    workload: 'single appends',
    wrap: changed((real, pathOf) => ({
      sync: (file) => (isStagedSession(pathOf(file)) ? undefined : real.sync(file)),
    })),
  },
  {
    name: 'a new session whose names are not synced before it is published',
    workload: 'single appends',
    wrap: changed((real) => ({
      syncDirectory: (path) => (isStagedSession(path) ? undefined : real.syncDirectory(path)),
    })),
  },
  {
    name: 'a new session whose own name is not synced',
    workload: 'single appends',
    wrap: changed((real) => ({
      syncDirectory: (path) => (path === '/sessions' ? undefined : real.syncDirectory(path)),
    })),
  },
  {
    name: 'an audit log whose name is not synced before its first line',
    workload: 'acts and notes',
    wrap: changed((real) => ({
      syncDirectory: (path) => (path.endsWith('/audit') ? undefined : real.syncDirectory(path)),
    })),
  },
  {
    name: 'an audit log whose directory has no durable name',
    workload: 'acts and notes',
    wrap: changed((real) => ({
      syncDirectory: (path) => (path.endsWith('/one') ? undefined : real.syncDirectory(path)),
    })),
  },
  {
    name: 'a close whose revision is not synced',
    workload: 'single appends',
    wrap: changed((real) => ({
      syncDirectory: (path) => (path.endsWith('/one') ? undefined : real.syncDirectory(path)),
    })),
  },
  {
    name: 'an append that is acknowledged before it is synced',
    workload: 'single appends',
    wrap: changed((real, pathOf) => {
      const due = new Map<number, () => void>()
      const settle = (file: number): void => {
        due.get(file)?.()
        due.delete(file)
      }
      return {
        sync: (file) => void (isLog(pathOf(file)) ? due.set(file, () => real.sync(file)) : real.sync(file)),
        write: (file, ...rest) => {
          settle(file)
          return real.write(file, ...rest)
        },
      }
    }),
  },
  {
    name: 'files that are renamed before they are synced',
    workload: 'single appends',
    wrap: changed((real, pathOf) => {
      const due = new Map<string, number>()
      return {
        sync: (file) => void (pathOf(file).endsWith('.tmp') ? due.set(pathOf(file), file) : real.sync(file)),
        close: (file) => (due.has(pathOf(file)) ? undefined : real.close(file)),
        rename: (from, to) => {
          real.rename(from, to)
          const file = due.get(from)
          if (file !== undefined) real.sync(file)
        },
      }
    }),
  },
  {
    name: 'a blob that is not synced before it is named',
    workload: 'slots and blobs',
    wrap: changed((real, pathOf) => ({
      sync: (file) => (pathOf(file).includes('/blobs/') ? undefined : real.sync(file)),
    })),
  },
  {
    name: 'the text of a slot that is believed although the snapshot has another one',
    workload: 'turns with snapshots',
    wrapRecovery: changed((real, pathOf) => ({
      read: (file, into, position) => {
        const got = real.read(file, into, position)
        const bytes = Buffer.from(into.buffer, into.byteOffset, got)
        if (pathOf(file).includes('/state/')) asNamed(bytes, real)
        return got
      },
    })),
  },
  {
    name: 'a rejected append that is not cut off',
    workload: 'a sync that fails, a write that fails, and going on',
    wrap: changed((real, pathOf) => ({
      truncate: (file, length) => (isLog(pathOf(file)) ? undefined : real.truncate(file, length)),
    })),
  },
  {
    name: 'a failed sync that is retried',
    workload: 'a sync that fails, a write that fails, and going on',
    wrap: changed((real) => ({
      sync: (file) => {
        try {
          real.sync(file)
        } catch {
          real.sync(file)
        }
      },
    })),
  },
  {
    name: 'a checksum that is not checked',
    workload: 'appends in groups',
    wrapRecovery: changed((real, pathOf) => ({
      read: (file, into, position) => {
        const got = real.read(file, into, position)
        if (isLog(pathOf(file))) believe(Buffer.from(into.buffer, into.byteOffset, got))
        return got
      },
    })),
  },
  {
    name: 'a torn tail that is cut off and not kept',
    workload: 'single appends',
    wrapRecovery: changed((real, pathOf) => ({
      write: (file, bytes, from, position) =>
        pathOf(file).includes('/quarantine/') ? bytes.length - from : real.write(file, bytes, from, position),
    })),
  },
  {
    name: 'a recovery that does not sync the records it has accepted',
    workload: 'single appends',
    killed: true,
    wrap: changed((real, pathOf) => {
      const written = new Set<number>()
      return {
        write: (file, ...rest) => {
          written.add(file)
          return real.write(file, ...rest)
        },
        sync: (file) => (isLog(pathOf(file)) && !written.has(file) ? undefined : real.sync(file)),
      }
    }),
  },
]

/** Makes the text of a slot say that it is true for the record that the head of the snapshot names. */
function asNamed(bytes: Buffer, disk: Disk): void {
  const head = readFile(disk, '/sessions/one/snapshot.json')?.toString() ?? ''
  const named = /"slots":\{"x":\{("seq":\d+,"tail":"[0-9a-f]{8}")\}/.exec(head)?.[1]
  const text = bytes.toString('latin1')
  const found = /"seq":\d+,"tail":"[0-9a-f]{8}"/.exec(text)
  if (named === undefined || found === null || found[0].length !== named.length) return
  bytes.write(named, found.index, 'latin1')
  believe(bytes)
}

/** Gives every line the right checksum for its contents. */
function believe(bytes: Buffer): void {
  for (let start = 0; start < bytes.length;) {
    const found = bytes.indexOf(0x0a, start)
    const end = found < 0 ? bytes.length : found
    const at = end - ',"crc":"00000000"}'.length
    if (at > start && bytes.toString('latin1', at, at + 8) === ',"crc":"')
      bytes.write(formatChecksum(crc32(bytes.subarray(start, at))), at + 8, 'latin1')
    start = end + 1
  }
}
