import { lstatSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { diskBytesOf, type SpaceCounter } from '../../base/fs/disk-space.ts'
import { ifExists } from '../../base/fs/exists.ts'
import { parseSegmentName } from '../log/log-files.ts'

export const useKinds = ['journal', 'audit', 'blobs', 'snapshots', 'quarantine', 'other'] as const
export type UseKind = (typeof useKinds)[number]

/** What a session takes, in bytes: the length of its files, and what the disk lost to them. */
export interface DiskUse extends Record<UseKind, number> {
  session_id: string
  bytes: number
  files: number
  /** Allocated blocks, directories included, in all and by kind; missing where only the lengths are known. */
  disk_bytes?: number
  disk?: Record<UseKind, number>
}

/** All sessions of a store, and those that are removed but not deleted yet. */
export interface MeasuredSessions {
  sessions: DiskUse[]
  trashBytes: number
  trashDiskBytes?: number
}

const kindOfDirectory: Readonly<Record<string, UseKind>> = {
  audit: 'audit',
  blobs: 'blobs',
  snapshots: 'snapshots',
  state: 'snapshots',
  quarantine: 'quarantine',
}

const noBytes = () => Object.fromEntries(useKinds.map((kind) => [kind, 0])) as Record<UseKind, number>

/**
 * Adds up the files of a session. A file that a fork shares with its original counts once, for the session
 * that is measured first.
 */
export function measureSession(directory: string, id: string, counter: SpaceCounter): DiskUse {
  const disk = noBytes()
  const use = { session_id: id, bytes: 0, disk_bytes: 0, files: 0, ...noBytes(), disk }
  const addDisk = (kind: UseKind, bytes: number): void => {
    use.disk_bytes += bytes
    disk[kind] += bytes
  }
  const walk = (path: string, kind: UseKind | undefined): void => {
    for (const name of ifExists(() => readdirSync(path)) ?? []) {
      const inner = join(path, name)
      const stat = lstatSync(inner, { throwIfNoEntry: false })
      if (stat?.isDirectory()) {
        const innerKind = kind ?? kindOfDirectory[name] ?? 'other'
        addDisk(innerKind, diskBytesOf(stat))
        walk(inner, innerKind)
        continue
      }
      const space = stat && counter.spaceOf(stat)
      if (space === undefined) continue
      const fileKind = kind ?? (parseSegmentName('journal', name) === undefined ? 'other' : 'journal')
      use.files += 1
      use.bytes += space.bytes
      use[fileKind] += space.bytes
      addDisk(fileKind, space.disk_bytes)
    }
  }
  const top = lstatSync(directory, { throwIfNoEntry: false })
  // A link may lead out of the home.
  if (!top?.isDirectory()) return use
  addDisk('other', diskBytesOf(top))
  walk(directory, undefined)
  return use
}
