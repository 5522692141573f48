import { replaceFile } from '../../primitives/atomic-file.ts'
import { type Disk, readFile } from '../../primitives/disk.ts'
import { StintError } from '../../primitives/stint-error.ts'
import { SessionLock } from '../session-lock.ts'
import type { Health } from '../store.ts'
import { touchSession } from './index-touch.ts'
import type { SessionPaths } from './paths.ts'

/** What verification has found, as the error it is; undefined if all is there. A tear is none: the next resume cuts it off. */
export function damageFound(id: string, { journal, audit, blobs }: Health): StintError | undefined {
  if (journal.state === 'damaged')
    return new StintError(
      'JOURNAL_CORRUPT',
      `the journal of ${id} is damaged: ${journal.findings.join('; ')}`,
      {
        detail: `readable=${journal.lastSeq}`,
      },
    )
  if (audit.state === 'damaged')
    return new StintError(
      'AUDIT_CORRUPT',
      `the audit log of ${id} is damaged: ${audit.findings.join('; ')}`,
      {
        detail: `readable=${audit.lastSeq}`,
      },
    )
  const [first] = blobs
  if (first === undefined) return undefined
  const more = blobs.length > 1 ? ` and ${blobs.length - 1} more` : ''
  return new StintError('BLOB_MISSING', `blob ${first}${more} of ${id} is missing or changed`, {
    detail: `blobs=${blobs.length}`,
  })
}

/** So that lists show it: in the session, and in the index, which must not be believed about it any more. */
export function noteDamage(disk: Disk, paths: SessionPaths, what: string, now: number): void {
  markDamaged(disk, paths, what, now)
  touchSession(paths.root, SessionLock.look(paths.root)?.epoch ?? 0)
}

/** So that a list shows it without reading the logs. */
export function markDamaged(disk: Disk, { damaged }: SessionPaths, what: string, now: number): void {
  try {
    if (readFile(disk, damaged) === undefined)
      replaceFile(damaged, `${JSON.stringify({ at: new Date(now).toISOString(), what })}\n`, disk)
  } catch {
    // A disk that is full or read-only does not make the damage less true.
  }
}

export const isMarkedDamaged = (disk: Disk, { damaged }: SessionPaths): boolean =>
  readFile(disk, damaged) !== undefined
