import { replaceFile } from '../../primitives/atomic-file.ts'
import { type Disk, readFile } from '../../primitives/disk.ts'
import { SessionLock } from './session-lock.ts'
import { touchSession } from './index-touch.ts'
import type { SessionPaths } from './paths.ts'

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
