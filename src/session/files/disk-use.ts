import { type Dirent, lstatSync, type Stats } from 'node:fs'
import { join } from 'node:path'
import { errorCode } from '../../base/errors/stint-error.ts'
import { diskBytesOf, SpaceCounter, listSteps, measureSteps } from '../../base/fs/measure-tree.ts'
import { homeError } from '../../base/fs/home.ts'
import { bytePath, latin1Of } from '../../base/fs/paths.ts'
import { runInTurns, stepEnds } from '../../base/process/event-loop.ts'
import { parseSegmentName } from './log-files.ts'
import { sessionIdsIn, type SessionsHome } from './session-directory.ts'

export const useKinds = ['journal', 'audit', 'blobs', 'snapshots', 'quarantine', 'other'] as const
export type UseKind = (typeof useKinds)[number]

/** What a session takes, in bytes. */
export interface DiskUse extends UsedSpace {
  session_id: string
  /** `disk_bytes` by kind. */
  disk: Record<UseKind, number>
}

/** A length in bytes, and what the disk lost to it: allocated blocks, or the length where that is unknown. */
export interface UsedSpace {
  bytes: number
  disk_bytes: number
}

/** All sessions of a store, and those that are removed but not deleted yet. */
export interface MeasuredSessions {
  sessions: DiskUse[]
  trash: UsedSpace
}

const kindOfDirectory: Readonly<Record<string, UseKind>> = {
  audit: 'audit',
  blobs: 'blobs',
  state: 'snapshots',
  quarantine: 'quarantine',
}

/**
 * Adds up the files of a session, in steps: it may have a file for each of many large events. A file that a
 * fork shares with its original counts once, for the session that is measured first.
 */
export function* measureSession(
  directory: string,
  id: string,
  counter: SpaceCounter,
): Generator<void, DiskUse> {
  const disk = Object.fromEntries(useKinds.map((kind) => [kind, 0])) as Record<UseKind, number>
  const use = { session_id: id, bytes: 0, disk_bytes: 0, disk }
  const root = latin1Of(directory)
  const isStepOver = stepEnds()
  const addDisk = (kind: UseKind, bytes: number): void => {
    use.disk_bytes += bytes
    disk[kind] += bytes
  }
  function* walk(below: string, size: number, kind: UseKind | undefined): Generator<void> {
    for (const { name } of yield* listIfThere(`${root}/${below}`, size)) {
      const path = `${below}${name}`
      const stat = lookAt(`${root}/${path}`)
      if (stat?.isDirectory()) {
        const innerKind = kind ?? kindOfDirectory[name] ?? 'other'
        addDisk(innerKind, diskBytesOf(stat))
        yield* walk(`${path}/`, stat.size, innerKind)
      }
      const space = stat?.isDirectory() === false ? counter.spaceOf(stat) : undefined
      if (isStepOver()) yield
      if (space === undefined) continue
      const fileKind = kind ?? kindOfFile(name)
      use.bytes += space.bytes
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

function kindOfFile(name: string): UseKind {
  if (name === 'snapshot.json') return 'snapshots'
  return parseSegmentName('journal', name) === undefined ? 'other' : 'journal'
}

/** Measures all sessions of a home, and its trash. */
export async function measureHome({ disk, sessions, trash, path }: SessionsHome): Promise<MeasuredSessions> {
  const counter = new SpaceCounter()
  const uses: DiskUse[] = []
  try {
    for (const id of sessionIdsIn(disk, sessions))
      uses.push(await runInTurns(measureSession(join(sessions, id), id, counter)))
  } catch (error) {
    throw homeError(error, path, `read ${sessions}`)
  }
  const { bytes, disk_bytes } = await runInTurns(measureSteps(trash, { counter }))
  return { sessions: uses, trash: { bytes, disk_bytes } }
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
