import { type Dirent, lstatSync, type Stats } from 'node:fs'
import { errorCode } from '../../base/errors/stint-error.ts'
import { diskBytesOf, type SpaceCounter } from '../../base/fs/disk-space.ts'
import { listSteps } from '../../base/fs/list-steps.ts'
import { bytePath, latin1Of } from '../../base/fs/paths.ts'
import { stepEnds } from '../../base/process/run-generator.ts'
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
 * Adds up the files of a session, in steps: it may have a file for each of many large events. A file that a
 * fork shares with its original counts once, for the session that is measured first. `isLeftOut` gets paths
 * relative to the session's directory.
 */
export function* measureSession(
  directory: string,
  id: string,
  counter: SpaceCounter,
  isLeftOut: (path: string) => boolean = () => false,
): Generator<void, Required<DiskUse>> {
  const disk = noBytes()
  const use = { session_id: id, bytes: 0, disk_bytes: 0, files: 0, ...noBytes(), disk }
  const root = latin1Of(directory)
  const isStepOver = stepEnds()
  const addDisk = (kind: UseKind, bytes: number): void => {
    use.disk_bytes += bytes
    disk[kind] += bytes
  }
  function* walk(below: string, size: number, kind: UseKind | undefined): Generator<void> {
    for (const { name } of yield* listIfThere(`${root}/${below}`, size)) {
      const path = `${below}${name}`
      const stat = isLeftOut(path) ? undefined : lookAt(`${root}/${path}`)
      if (stat?.isDirectory()) {
        const innerKind = kind ?? kindOfDirectory[name] ?? 'other'
        addDisk(innerKind, diskBytesOf(stat))
        yield* walk(`${path}/`, stat.size, innerKind)
      }
      const space = stat?.isDirectory() === false ? counter.spaceOf(stat) : undefined
      if (isStepOver()) yield
      if (space === undefined) continue
      const fileKind = kind ?? (parseSegmentName('journal', name) === undefined ? 'other' : 'journal')
      use.files += 1
      use.bytes += space.bytes
      use[fileKind] += space.bytes
      addDisk(fileKind, space.disk_bytes)
    }
  }
  const top = lookAt(root)
  // A link may lead out of the home.
  if (!top?.isDirectory()) return use
  addDisk('other', diskBytesOf(top))
  yield* walk('', top.size, undefined)
  return use
}

const lookAt = (latin1: string): Stats | undefined => lstatSync(bytePath(latin1), { throwIfNoEntry: false })

/** The entries of a directory; none if it was removed meanwhile. */
function* listIfThere(latin1: string, size: number): Generator<void, readonly Dirent[]> {
  try {
    return yield* listSteps(bytePath(latin1), size)
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return []
    throw error
  }
}
