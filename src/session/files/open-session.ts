import { join } from 'node:path'
import { StintError } from '../../base/errors/stint-error.ts'
import { isStaged } from '../../base/fs/atomic-file.ts'
import { closing, listIfExists } from '../../base/fs/disk.ts'
import type { Recovery, SessionHold } from '../driver.ts'
import type { LockStanding } from '../holder.ts'
import { type CutTail, cutTornTail, removeSuperseded, syncAccepted } from '../log/cut-torn-tail.ts'
import {
  type AppendPoint,
  type LogName,
  logNames,
  type LogPositions,
  logStart,
  type Position,
} from '../log/log-end.ts'
import { laterSegment, listSegments, type LogFiles } from '../log/log-files.ts'
import { endsAt, hasPosition } from '../log/read.ts'
import type { Leftover, Scanned } from '../log/scan.ts'
import type { Manifest } from '../manifest.ts'
import { damageFound, logDamaged } from '../session-errors.ts'
import { brokenSlots, emptyState, nothingToReport } from '../state.ts'
import { copyBytes } from './fork.ts'
import { FilesystemSession, type OpenContext } from './held-session.ts'
import { type RecoveredSession, recoverSession } from './recover.ts'
import type { SessionDirectory } from './session-directory.ts'
import { acquireLock, type AcquiredLock, type SessionLock } from './session-lock.ts'
import { verifySession } from './verify.ts'

/** Acquires the lock of a session. `SESSION_LOCKED` while a living process holds it, without `force`. */
export const acquireSession = (
  directory: SessionDirectory,
  id: string,
  hold: SessionHold & { force?: boolean },
  now: number,
): AcquiredLock =>
  acquireLock(directory.paths.root, id, {
    ...hold,
    now,
    highestHoldEpoch: () => directory.highestHoldEpoch(),
  })

/** Opens a session that was just created. */
export const openNewSession = (context: OpenContext, lock: SessionLock): Promise<FilesystemSession> =>
  FilesystemSession.open(context, lock, {
    recovered: { state: emptyState(), report: nothingToReport(), bytes: 0, snapshotDue: false },
    journal: { from: logStart('journal'), continues: true, isNew: true },
    audit: { from: logStart('audit'), continues: false, isNew: true },
    wasClosed: true,
  })

/**
 * Recovers a session whose lock was just acquired, and opens it. Throws for a damaged session and changes
 * nothing in its logs.
 */
export async function openAcquiredSession(
  context: OpenContext,
  { lock, standing, before }: AcquiredLock,
): Promise<FilesystemSession> {
  const { directory, manifest, hold, limits } = context
  const { logs, snapshots, paths } = directory
  await refuseNotedDamage(directory, manifest)
  // A visitor of a closed session needs no state: it appends where the logs end, unless a snapshot is due.
  const ends = hold.kind === 'visitor' ? before?.ends : undefined
  const isDue = (end: Position, snapshotSeq: number): boolean =>
    end.seq - snapshotSeq >= limits.visitedRecords
  if (ends !== undefined && !isDue(ends.journal, snapshots.newestSeq()) && isAsReleased(logs, ends))
    return await FilesystemSession.open(context, lock, {
      recovered: undefined,
      journal: await chooseAppendPoint(logs.journal, ends.journal, 'released', lock.holdEpoch),
      audit: await chooseAppendPoint(logs.audit, ends.audit, 'released', lock.holdEpoch),
      wasClosed: true,
    })
  const recovered = await recoverSession(directory, manifest, before?.ends)
  await refuseDamage(context, recovered)
  const { journal, audit, state, snapshot } = recovered
  const cut: CutTail[] = []
  for (const log of logNames) cut.push(...(await cutTornTail(logs[log], recovered[log], paths.quarantine)))
  for (const log of logNames) await syncAccepted(logs[log], recovered[log])
  const superseded: Leftover[] = []
  for (const log of logNames) superseded.push(...(await removeSuperseded(logs[log], paths.quarantine)))
  if (standing === 'dead') await removeStaged(directory)
  const recovery: Recovery = {
    state,
    report: {
      snapshot: snapshot?.seq,
      replayed: journal.records,
      cut,
      ignored: [...journal.ignored, ...audit.ignored, ...superseded],
      brokenSlots: brokenSlots(state),
      tookOverFrom: before?.holder,
    },
    bytes: journal.bytes,
    snapshotDue: isDue(journal.end, snapshot?.seq ?? 0),
  }
  return await FilesystemSession.open(context, lock, {
    recovered: recovery,
    journal: await chooseAppendPoint(logs.journal, journal.end, standing, lock.holdEpoch),
    audit: await chooseAppendPoint(logs.audit, audit.end, standing, lock.holdEpoch),
    wasClosed: standing === 'released',
  })
}

/** Chooses where a new writer goes on in a log, so that no earlier writer can spoil its records. */
async function chooseAppendPoint(
  files: LogFiles,
  from: Position,
  standing: LockStanding,
  holdEpoch: number,
): Promise<AppendPoint> {
  const last = listSegments(files).at(-1)
  // The last writer has closed the segment. Records added to any segment but the last would never be read.
  if (standing === 'released') return { from, continues: last?.name === from.segment }
  // The last writer is dead, or there was none.
  if (standing === 'dead' || standing === 'never') return { from, continues: false }
  // The last writer is silent, or `unlock` has taken its lock. It may still write to its last segment, or
  // truncate it: copy its acknowledged part.
  if (last === undefined || from.segment !== last.name || from.seq === 0) return { from, continues: false }
  const { disk, directory, log } = files
  const segment = laterSegment(log, last.firstSeq, holdEpoch)
  using file = closing(disk, disk.openToRead(join(directory, last.name)))
  if (!(await copyBytes(disk, file.fd, from.offset, join(directory, segment))))
    throw new StintError('SESSION_LOCKED', 'the previous writer is still writing to the session')
  return { from: { ...from, segment }, continues: true }
}

/** Do the logs still end where the last writer has closed them? */
const isAsReleased = (logs: SessionDirectory['logs'], ends: LogPositions): boolean =>
  logNames.every((log) => hasPosition(logs[log], ends[log]) && endsAt(logs[log], ends[log]))

/**
 * Verifies a session in which damage was noted: it may be before the snapshot that recovery begins with. The
 * note goes if the session is intact, because a user has restored its files.
 */
async function refuseNotedDamage(directory: SessionDirectory, manifest: Manifest): Promise<void> {
  if (!directory.isDamageNoted()) return
  const damage = damageFound(manifest.session_id, await verifySession(directory, { manifest }))
  if (damage === undefined) await directory.forgetDamage()
  // A session can be used without one of its blobs.
  else if (damage.code !== 'BLOB_MISSING') throw damage
}

async function refuseDamage(
  { directory, manifest, clock }: OpenContext,
  recovered: RecoveredSession,
): Promise<void> {
  const error = damageInRecovery(manifest.session_id, recovered)
  if (error === undefined) return
  await directory.noteDamage(error.message, clock.now())
  throw error
}

function damageInRecovery(
  id: string,
  { journal, audit, auditMismatch }: RecoveredSession,
): StintError | undefined {
  if (journal.bad !== undefined) return damagedAt(id, 'journal', journal)
  if (audit.bad !== undefined) return damagedAt(id, 'audit', audit)
  if (auditMismatch === undefined) return undefined
  const { count } = auditMismatch
  return new StintError(
    'AUDIT_CORRUPT',
    `the audit log of ${id} is not the one that its journal attests at line ${count}`,
  )
}

function damagedAt(id: string, log: LogName, { bad, end }: Scanned): StintError {
  const { seq, segment, offset } = bad ?? end
  return logDamaged(id, log, `record ${seq} is missing or changed, in ${segment} at byte ${offset}`, {
    detail: `seq=${seq} segment=${segment} offset=${offset} readable=${end.seq}`,
  })
}

/** Removes the temporary files of a dead writer. */
async function removeStaged({ disk, paths }: SessionDirectory): Promise<void> {
  const { root, audit, blobs, quarantine, snapshots, state } = paths
  for (const directory of [root, audit, blobs, quarantine, snapshots, state]) {
    for (const name of listIfExists(disk, directory))
      if (isStaged(name)) await disk.unlink(join(directory, name))
  }
}
