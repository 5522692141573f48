import type { Snapshot } from '../log/snapshot-codec.ts'
import { join } from 'node:path'
import { cutTornTail, syncAccepted } from '../log/cut-torn-tail.ts'
import { logStart, type Position } from '../log/log-end.ts'
import { hasPosition, endsAt, readLines } from '../log/read.ts'
import { parseLogRecord } from '../log/record.ts'
import { isStaged } from '../../base/fs/atomic-file.ts'
import type { Clock } from '../../base/process/clock.ts'
import { type Disk, listIfExists } from '../../base/fs/disk.ts'
import { damageFound } from '../session-errors.ts'
import type { Recovery, SessionHold, WriteGuard } from '../driver.ts'
import type { Manifest } from '../manifest.ts'
import { brokenSlots, emptyState, nothingToReport } from '../state.ts'
import type { Holder } from '../store.ts'
import { damageInRecovery, isMarkedDamaged, markDamaged } from './damage-marker.ts'
import { FilesystemSession, type SessionLimits, defaultLimits } from './held-session.ts'
import { confirmHold, markHold } from './list-cache.ts'
import { highestEpoch, type LogPositions, type Logs, logsOf } from './logs.ts'
import { chooseAppendPoint } from './append-point.ts'
import type { SessionPaths } from './paths.ts'
import { recoverSession, type RecoveredSession, sourcesIn } from './recover.ts'
import { SessionLock, type TakenLock, type WriterLock } from './session-lock.ts'
import { Snapshots } from './snapshots.ts'
import { spoolFileId, listSpoolFiles } from './spool.ts'
import { verifySession } from './verify.ts'

export interface OpenContext {
  disk: Disk
  clock: Clock
  paths: SessionPaths
  manifest: Manifest
  hold: SessionHold
  guard: WriteGuard
  /** Smaller in tests. */
  limits?: Partial<SessionLimits>
  /** By a repair: what is still marked as damaged is about to be no more. */
  repairing?: boolean
}

/** A lock that was just taken, and how it was found. */
export interface TakenHold extends Pick<TakenLock, 'standing' | 'before'> {
  lock: WriterLock
}

/** Takes the lock of a session, or throws `SESSION_LOCKED`. */
export function takeSession(
  disk: Disk,
  { root, ...paths }: SessionPaths,
  manifest: Manifest | undefined,
  request: { id: string; kind: Holder['kind']; purpose?: string; force?: boolean },
): TakenLock {
  const { id, ...how } = request
  const createdAt = manifest === undefined ? 0 : Date.parse(manifest.created_at)
  for (;;) {
    const highest = highestEpoch(logsOf(disk, { root, ...paths }))
    const { epoch, standing, before, take } = SessionLock.attempt(root, id, { ...how, highestEpoch: highest })
    // Lists must not use what they know of the session from the moment the lock is taken.
    const hold = { root, createdAt, epoch }
    markHold(hold, before?.epoch ?? 0)
    const lock = take()
    if (lock === undefined) continue
    confirmHold(hold)
    return { lock, standing, before }
  }
}

/** Opens a session that was just created. */
export const openNewSession = (context: OpenContext, lock: WriterLock): FilesystemSession =>
  new FilesystemSession({
    ...context,
    limits: { ...defaultLimits, ...context.limits },
    lock,
    recovered: { state: emptyState(), report: nothingToReport(), bytes: 0, snapshotDue: false },
    journal: { from: logStart('journal'), continues: false, eager: true },
    audit: {
      from: logStart('audit'),
      continues: false,
      eager: false,
    },
    spooled: new Set(),
  })

/** Recovers a session whose lock was just taken, and opens it. Damage is reported and nothing is changed. */
export function openTakenSession(context: OpenContext, taken: TakenHold): FilesystemSession {
  const { disk, paths, manifest, hold } = context
  const { lock, standing, before } = taken
  const logs = logsOf(disk, paths)
  if (!context.repairing) refuseMarked(context)
  // A visitor needs no state, unless it must take a snapshot: where a session was closed, it can go on without reading it.
  const ends = hold.kind === 'visitor' ? before?.ends : undefined
  if (ends !== undefined && !isSnapshotDue(context, ends) && isAsLeft(logs, ends))
    return openAt(context, taken, logs, ends)
  const recovered = recoverSession(sourcesIn(disk, paths, manifest, before?.ends))
  refuseDamage(context, recovered)
  const { journal, audit, state, snapshot } = recovered
  const cut = [
    ...cutTornTail(logs.journal, journal, paths.quarantine),
    ...cutTornTail(logs.audit, audit, paths.quarantine),
  ]
  syncAccepted(logs.journal, journal)
  syncAccepted(logs.audit, audit)
  if (standing === 'dead') removeStaged(disk, paths)
  const limits = { ...defaultLimits, ...context.limits }
  const recovery: Recovery = {
    state,
    report: {
      snapshot: snapshot?.seq,
      replayed: journal.records,
      cut,
      ignored: [...journal.ignored, ...audit.ignored],
      brokenSlots: brokenSlots(state),
      tookOverFrom: before?.holder,
    },
    bytes: journal.bytes,
    snapshotDue: journal.end.seq - (snapshot?.seq ?? 0) >= limits.visitedRecords,
  }
  return new FilesystemSession({
    ...context,
    limits,
    lock,
    recovered: recovery,
    journal: chooseAppendPoint(logs.journal, journal.end, standing, lock.epoch),
    audit: chooseAppendPoint(logs.audit, audit.end, standing, lock.epoch),
    spooled: spooledMarks(context, logs, snapshot),
  })
}

/** By the names of the snapshots alone. */
const isSnapshotDue = ({ disk, paths, limits }: OpenContext, { journal }: LogPositions): boolean =>
  journal.seq - new Snapshots(disk, paths).newestSeq() >=
  (limits?.visitedRecords ?? defaultLimits.visitedRecords)

/** Do the logs end where the last writer says that it left them? */
const isAsLeft = (logs: Logs, ends: LogPositions): boolean =>
  (['journal', 'audit'] as const).every(
    (log) => hasPosition(logs[log], ends[log]) && endsAt(logs[log], ends[log]),
  )

const openAt = (
  context: OpenContext,
  { lock }: TakenHold,
  logs: Logs,
  ends: LogPositions,
): FilesystemSession =>
  new FilesystemSession({
    ...context,
    limits: { ...defaultLimits, ...context.limits },
    lock,
    recovered: undefined,
    journal: chooseAppendPoint(logs.journal, ends.journal, 'released', lock.epoch),
    audit: chooseAppendPoint(logs.audit, ends.audit, 'released', lock.epoch),
    spooled: spooledMarks(context, logs, undefined),
  })

/** The entries of the spool files that are there, and that the logs have: those the snapshot tells of, and those that came after it. */
function spooledMarks(
  { disk, paths }: OpenContext,
  logs: Logs,
  snapshot: Snapshot<Position> | undefined,
): Set<string> {
  const files = new Set(listSpoolFiles(disk, paths).map(spoolFileId))
  const marks = new Set(snapshot?.spooled)
  if (files.size === 0) return marks
  for (const log of ['journal', 'audit'] as const) {
    for (const { line } of readLines(logs[log], { from: (snapshot?.ends[log].seq ?? 0) + 1 })) {
      const mark: unknown = line.bytes.includes('"spool":"') ? parseLogRecord(line.bytes).spool : undefined
      if (typeof mark === 'string' && files.has(spoolFileId(mark))) marks.add(mark)
    }
  }
  return marks
}

/** Damage that was found once may lie before the snapshot that a recovery begins with: then only reading all of it tells. */
function refuseMarked({ disk, paths, manifest }: OpenContext): void {
  if (!isMarkedDamaged(disk, paths)) return
  const damage = damageFound(manifest.session_id, verifySession(sourcesIn(disk, paths, manifest)))
  // Without a blob, all the rest can go on.
  if (damage !== undefined && damage.code !== 'BLOB_MISSING') throw damage
}

function refuseDamage({ paths, manifest, disk, clock }: OpenContext, recovered: RecoveredSession): void {
  const error = damageInRecovery(manifest.session_id, recovered)
  if (error === undefined) return
  markDamaged(disk, paths, error.message, clock.now())
  throw error
}

/** What a writer was about to rename when it died. The spool has files of others, who may live. */
function removeStaged(disk: Disk, { root, audit, blobs, quarantine, snapshots, state }: SessionPaths): void {
  for (const directory of [root, audit, blobs, quarantine, snapshots, state]) {
    for (const name of listIfExists(disk, directory)) if (isStaged(name)) disk.unlink(join(directory, name))
  }
}
