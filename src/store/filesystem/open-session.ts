import { join } from 'node:path'
import { Blobs } from '../../journal/blobs.ts'
import { mend, settle } from '../../journal/mend.ts'
import { beginning, type Position } from '../../journal/position.ts'
import { isAt, isEnd, readLines } from '../../journal/read.ts'
import { parseRecord } from '../../journal/record.ts'
import { type LogPlace, segmentsOf } from '../../journal/log-place.ts'
import type { Scanned } from '../../journal/scan.ts'
import { laterSegment } from '../../journal/segment.ts'
import { isStaged, replaceFile } from '../../primitives/atomic-file.ts'
import type { Clock } from '../../primitives/clock.ts'
import { type Disk, listIfThere, readFully } from '../../primitives/disk.ts'
import { StintError } from '../../primitives/stint-error.ts'
import type { Hold } from '../driver.ts'
import type { Manifest } from '../manifest.ts'
import { brokenSlots, nothingToReport } from '../recovery-report.ts'
import type { Standing } from './lock-record.ts'
import type { LogEnds } from './logs.ts'
import type { Taken, WriterLock } from './session-lock.ts'
import { emptyState } from '../state.ts'
import type { RecoveryReport } from '../store.ts'
import { damageFound } from '../damage-found.ts'
import { isMarkedDamaged, markDamaged } from './damage.ts'
import { FilesystemSession, type Onward, type Sizes } from './held-session.ts'
import { type Logs, logsOf } from './logs.ts'
import type { SessionPaths } from './paths.ts'
import { type Recovered, recover } from './recover.ts'
import { type Snapshot, Snapshots } from './snapshots.ts'
import { idOf, waiting } from './spool.ts'
import { verify } from './verify.ts'

export interface OpenContext {
  disk: Disk
  clock: Clock
  paths: SessionPaths
  manifest: Manifest
  hold: Hold
  onReleased?: () => void
  sizes?: Sizes
  /** By a repair: what is still marked as damaged is about to be no more. */
  repairing?: boolean
}

/** A lock that was just taken, and how it was found. */
export interface TakenHold extends Pick<Taken, 'standing' | 'before'> {
  lock: WriterLock
}

/** Opens a session that was just created. */
export const openNew = (context: OpenContext, lock: WriterLock): FilesystemSession =>
  new FilesystemSession({
    ...context,
    lock,
    state: emptyState(),
    report: nothingToReport(),
    journal: { from: beginning('journal'), continues: false, eager: true },
    audit: {
      from: beginning('audit', logsOf(context.disk, context.paths).audit.codec),
      continues: false,
      eager: false,
    },
    snapshotAt: { seq: 0, bytes: 0 },
    taken: new Set(),
  })

/** Recovers a session whose lock was just taken, and opens it. Damage is reported and nothing is changed. */
export function openTaken(context: OpenContext, taken: TakenHold): FilesystemSession {
  const { disk, paths, manifest, hold } = context
  const { lock, standing, before } = taken
  const logs = logsOf(disk, paths)
  if (!context.repairing) refuseMarked(context, logs)
  // A visitor needs no state: where a session was closed, it can go on without reading it.
  if (hold.kind === 'visitor' && before?.ends !== undefined && isAsLeft(logs, before.ends))
    return openAt(context, taken, logs, before.ends)
  const recovered = recover({
    logs,
    snapshots: new Snapshots(disk, paths),
    blobs: new Blobs(disk, paths.blobs),
    manifest,
    released: before?.ends,
  })
  refuseDamage(context, recovered)
  const { journal, audit, state, snapshot } = recovered
  const cut = [...mend(logs.journal, journal, paths.quarantine), ...mend(logs.audit, audit, paths.quarantine)]
  settle(logs.journal, journal)
  settle(logs.audit, audit)
  if (standing === 'dead') removeStaged(disk, paths)
  const report: RecoveryReport = {
    snapshot: snapshot?.seq,
    replayed: journal.records,
    cut,
    ignored: [...journal.ignored, ...audit.ignored],
    brokenSlots: brokenSlots(state),
    tookOverFrom: before?.holder,
  }
  return new FilesystemSession({
    ...context,
    lock,
    state,
    report,
    journal: onward(logs.journal, journal.end, standing, lock.epoch),
    audit: onward(logs.audit, audit.end, standing, lock.epoch),
    snapshotAt: { seq: snapshot?.seq ?? 0, bytes: journal.bytes },
    taken: takenMarks(context, logs, snapshot),
  })
}

/** Do the logs end where the last writer says that it left them? */
const isAsLeft = (logs: Logs, ends: LogEnds): boolean =>
  (['journal', 'audit'] as const).every((log) => isAt(logs[log], ends[log]) && isEnd(logs[log], ends[log]))

const openAt = (context: OpenContext, { lock }: TakenHold, logs: Logs, ends: LogEnds): FilesystemSession =>
  new FilesystemSession({
    ...context,
    lock,
    state: emptyState(),
    report: nothingToReport(),
    journal: onward(logs.journal, ends.journal, 'released', lock.epoch),
    audit: onward(logs.audit, ends.audit, 'released', lock.epoch),
    snapshotAt: { seq: ends.journal.seq, bytes: 0 },
    taken: takenMarks(context, logs, undefined),
  })

/** Where a writer goes on, so that nobody who came before can spoil it. */
function onward(place: LogPlace, from: Position, standing: Standing, epoch: number): Onward {
  const last = segmentsOf(place).at(-1)
  // It was closed: nobody else has it open. What is added to any but the last segment would not count.
  if (standing === 'released') return { from, continues: last?.name === from.segment, eager: false }
  // Its writer is dead, or it never had one.
  if (standing !== 'silent' && standing !== 'held') return { from, continues: false, eager: true }
  // Somebody may still write to its last segment, or cut it: the part that counts becomes a segment of ours.
  if (last === undefined || from.segment !== last.name || from.seq === 0)
    return { from, continues: false, eager: true }
  const { disk, directory, log } = place
  const segment = laterSegment(log, last.firstSeq, epoch)
  const file = disk.openToRead(join(directory, last.name))
  try {
    const bytes = readFully(disk, file, 0, from.offset)
    if (bytes.length < from.offset)
      throw new StintError('SESSION_LOCKED', 'the previous writer is still writing to the session')
    replaceFile(join(directory, segment), bytes, disk)
  } finally {
    disk.close(file)
  }
  return { from: { ...from, segment }, continues: true, eager: true }
}

/** The entries of the spool files that are there, and that the logs have: those the snapshot tells of, and those that came after it. */
function takenMarks({ disk, paths }: OpenContext, logs: Logs, snapshot: Snapshot | undefined): Set<string> {
  const files = new Set(waiting(disk, paths).map(idOf))
  const marks = new Set(snapshot?.spooled)
  if (files.size === 0) return marks
  for (const log of ['journal', 'audit'] as const) {
    for (const { line } of readLines(logs[log], { from: (snapshot?.ends[log].seq ?? 0) + 1 })) {
      const mark: unknown = line.bytes.includes('"spool":"') ? parseRecord(line.bytes).spool : undefined
      if (typeof mark === 'string' && files.has(idOf(mark))) marks.add(mark)
    }
  }
  return marks
}

/** Damage that was found once may lie before the snapshot that a recovery begins with: then only reading all of it tells. */
function refuseMarked({ disk, paths, manifest }: OpenContext, logs: Logs): void {
  if (!isMarkedDamaged(disk, paths)) return
  const [snapshots, blobs] = [new Snapshots(disk, paths), new Blobs(disk, paths.blobs)]
  const damage = damageFound(manifest.session_id, verify({ logs, snapshots, blobs, manifest }))
  // Without a blob, all the rest can go on.
  if (damage !== undefined && damage.code !== 'BLOB_MISSING') throw damage
}

function refuseDamage({ paths, manifest, disk, clock }: OpenContext, recovered: Recovered): void {
  const error = damageOf(manifest.session_id, recovered)
  if (error === undefined) return
  markDamaged(disk, paths, error.message, clock.now())
  throw error
}

export function damageOf(id: string, { journal, audit, auditMismatch }: Recovered): StintError | undefined {
  if (journal.bad !== undefined) return damage('JOURNAL_CORRUPT', `the journal of ${id}`, journal)
  if (audit.bad !== undefined) return damage('AUDIT_CORRUPT', `the audit log of ${id}`, audit)
  if (auditMismatch === undefined) return undefined
  const { count } = auditMismatch
  return new StintError(
    'AUDIT_CORRUPT',
    `the audit log of ${id} is not the one that its journal attests at line ${count}`,
  )
}

function damage(code: 'JOURNAL_CORRUPT' | 'AUDIT_CORRUPT', what: string, { bad, end }: Scanned): StintError {
  const { seq, segment, offset } = bad ?? end
  return new StintError(
    code,
    `${what} is damaged: record ${seq} is missing or changed, in ${segment} at byte ${offset}`,
    {
      detail: `seq=${seq} segment=${segment} offset=${offset} readable=${end.seq}`,
    },
  )
}

/** What a writer was about to rename when it died. The spool has files of others, who may live. */
function removeStaged(disk: Disk, { root, audit, blobs, quarantine, snapshots, state }: SessionPaths): void {
  for (const directory of [root, audit, blobs, quarantine, snapshots, state]) {
    for (const name of listIfThere(disk, directory)) if (isStaged(name)) disk.unlink(join(directory, name))
  }
}
