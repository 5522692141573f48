import { lstatSync } from 'node:fs'
import { join } from 'node:path'
import { listIfExists } from '../../base/fs/disk.ts'
import { diskBytesOf, type DiskSpace, measureSteps, SpaceCounter } from '../../base/fs/measure-tree.ts'
import { runInTurns } from '../../base/process/event-loop.ts'
import { parseSegmentName } from './log-files.ts'
import { sessionIdsIn, type SessionsHome } from './sessions-home.ts'

export const useKinds = ['journal', 'audit', 'blobs', 'snapshots', 'quarantine', 'other'] as const
export type UseKind = (typeof useKinds)[number]

/** What a session takes, in bytes. */
export interface DiskUse extends DiskSpace {
  session_id: string
  /** `disk_bytes` by kind. */
  disk: Record<UseKind, number>
}

/** All sessions of a store, and those that are removed but not deleted yet. */
export interface MeasuredSessions {
  sessions: DiskUse[]
  trash: DiskSpace
}

/** Measures all sessions of a home, and its trash. A file with several names counts once. */
export async function measureHome(home: SessionsHome): Promise<MeasuredSessions> {
  const counter = new SpaceCounter()
  const sessions: DiskUse[] = []
  for (const id of sessionIdsIn(home.disk, home.sessions))
    sessions.push(await measureSession(home, id, counter))
  const { bytes, disk_bytes } = await runInTurns(measureSteps(home.trash, { counter }))
  return { sessions, trash: { bytes, disk_bytes } }
}

async function measureSession(home: SessionsHome, id: string, counter: SpaceCounter): Promise<DiskUse> {
  const root = join(home.sessions, id)
  const disk = Object.fromEntries(useKinds.map((kind) => [kind, 0])) as Record<UseKind, number>
  const use = { session_id: id, bytes: 0, disk_bytes: 0, disk }
  const stat = lstatSync(root, { throwIfNoEntry: false })
  // A link may lead out of the home.
  if (!stat?.isDirectory()) return use
  const add = (kind: UseKind, { bytes, disk_bytes }: DiskSpace): void => {
    use.bytes += bytes
    use.disk_bytes += disk_bytes
    disk[kind] += disk_bytes
  }
  add('other', { bytes: 0, disk_bytes: diskBytesOf(stat) })
  for (const name of listIfExists(home.disk, root))
    add(kindOf(name), await runInTurns(measureSteps(join(root, name), { counter })))
  return use
}

const kindOfName: Readonly<Record<string, UseKind>> = {
  audit: 'audit',
  blobs: 'blobs',
  state: 'snapshots',
  'snapshot.json': 'snapshots',
  quarantine: 'quarantine',
}

const kindOf = (name: string): UseKind =>
  kindOfName[name] ?? (parseSegmentName('journal', name) === undefined ? 'other' : 'journal')
