import { logDamaged } from '../session-errors.ts'
import type { LogName } from '../log/log-end.ts'
import type { Scanned } from '../log/scan.ts'
import { replaceFile } from '../../base/fs/atomic-file.ts'
import { type Disk, readFile } from '../../base/fs/disk.ts'
import { StintError } from '../../base/errors/stint-error.ts'
import { markDamage } from './list-cache.ts'
import type { SessionPaths } from './paths.ts'
import type { RecoveredSession } from './recover.ts'
import { SessionLock } from './session-lock.ts'

/** Notes damage that a reader has found, so that lists show it. */
export function noteDamage(disk: Disk, paths: SessionPaths, what: string, now: number): void {
  markDamaged(disk, paths, what, now)
  markDamage({ root: paths.root, createdAt: 0, epoch: SessionLock.look(paths.root)?.epoch ?? 0 })
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

/** What a recovery has found, as the error it is. */
export function damageInRecovery(
  id: string,
  { journal, audit, auditMismatch }: RecoveredSession,
): StintError | undefined {
  if (journal.bad !== undefined) return damaged(id, 'journal', journal)
  if (audit.bad !== undefined) return damaged(id, 'audit', audit)
  if (auditMismatch === undefined) return undefined
  const { count } = auditMismatch
  return new StintError(
    'AUDIT_CORRUPT',
    `the audit log of ${id} is not the one that its journal attests at line ${count}`,
  )
}

function damaged(id: string, log: LogName, { bad, end }: Scanned): StintError {
  const { seq, segment, offset } = bad ?? end
  return logDamaged(id, log, `record ${seq} is missing or changed, in ${segment} at byte ${offset}`, {
    detail: `seq=${seq} segment=${segment} offset=${offset} readable=${end.seq}`,
  })
}
