import type { Later } from '../../base/fs/disk.ts'
import { giveWay } from '../../base/process/event-loop.ts'
import { auditRecordOf } from '../audit-record.ts'
import type { Blobs } from '../log/blobs.ts'
import { type LogPositions, logStart, type Position } from '../log/log-end.ts'
import { locatePosition } from '../log/read.ts'
import {
  type AuditCheckpoint,
  checkpointOn,
  furthestCheckpoint,
  hasTypePrefix,
  type LogRecord,
  parseLogRecord,
} from '../log/record.ts'
import { type Scanned, scanLog } from '../log/scan.ts'
import type { Snapshot } from '../log/snapshot-codec.ts'
import { attestedBy, type Manifest } from '../manifest.ts'
import {
  applyAuditRecord,
  applyJournalRecord,
  emptyState,
  type FoldedState,
  ownPrefix,
  slotType,
} from '../state.ts'
import type { SessionDirectory } from './session-directory.ts'
import { sessionFileError } from './session-file-errors.ts'

/** The state of a session, and the condition of its logs. */
export interface RecoveredSession {
  state: FoldedState
  /** The snapshot that recovery began with. */
  snapshot: Snapshot<Position> | undefined
  journal: Scanned
  audit: Scanned
  /** Set if the last line of the audit log is not the one that is attested outside of it. */
  auditMismatch: AuditCheckpoint | undefined
}

/**
 * Loads the newest snapshot that fits the logs and replays the records after it; without a snapshot, all
 * records. Changes nothing. `released`: where the writer that released the lock says that the logs end.
 */
export async function recoverSession(
  { logs, snapshots, blobs }: SessionDirectory,
  manifest: Manifest,
  released?: LogPositions,
): Promise<RecoveredSession> {
  const { snapshot, skipped } = await fittingSnapshot(logs, snapshots)
  const state = snapshot?.state ?? emptyState()
  const revised = attestedBy(manifest)
  let checkpoint: AuditCheckpoint | undefined
  const journal = await scanLog(logs.journal, {
    from: snapshot?.ends.journal ?? logStart('journal'),
    attestedSeq: Math.max(revised.seq, skipped?.journal.seq ?? 0, released?.journal.seq ?? 0),
    onRecord(line, header) {
      checkpoint = checkpointOn(line) ?? checkpoint
      return hasTypePrefix(line, header, ownTypes)
        ? foldJournal(state, parseLogRecord(line.bytes), blobs)
        : undefined
    },
  })
  const audit = await scanLog(logs.audit, {
    from: snapshot?.ends.audit ?? logStart('audit'),
    attestedSeq: Math.max(
      revised.audit?.count ?? 0,
      skipped?.audit.seq ?? 0,
      checkpoint?.count ?? 0,
      released?.audit.seq ?? 0,
    ),
    onRecord: (line) => foldAudit(state, parseLogRecord(line.bytes), blobs),
  })
  // The manifest of a fork or a repaired copy may attest more of the audit log than its journal does.
  const head = furthestCheckpoint([revised.audit, checkpoint])
  const isMismatch = head !== undefined && head.count === audit.end.seq && head.head !== audit.end.sum
  return { state, snapshot, journal, audit, auditMismatch: isMismatch ? head : undefined }
}

/**
 * Skips snapshots that do not fit the logs, or that lack a value. They still attest that the logs had come so
 * far.
 */
async function fittingSnapshot(
  logs: SessionDirectory['logs'],
  snapshots: SessionDirectory['snapshots'],
): Promise<{ snapshot?: Snapshot<Position>; skipped?: LogPositions }> {
  let skipped: LogPositions | undefined
  for (const stored of snapshots.newestFirst()) {
    const journal = locatePosition(logs.journal, stored.ends.journal)
    const audit = locatePosition(logs.audit, stored.ends.audit)
    const fits = journal !== undefined && audit !== undefined
    const snapshot = fits ? await snapshots.restore({ ...stored, ends: { journal, audit } }) : undefined
    if (snapshot !== undefined) return { snapshot, skipped }
    skipped ??= stored.ends
  }
  return { skipped }
}

const ownTypes = Buffer.from(ownPrefix)

/** Applies a record of the journal to the state; a promise if the value of its slot is in a blob. */
function foldJournal(state: FoldedState, record: LogRecord, blobs: Blobs): Later {
  if (record.blob !== undefined && record.type === slotType)
    return withBlob(record, blobs, (read) => applyJournalRecord(state, record, read))
  applyJournalRecord(state, record, () => record.data)
}

function foldAudit(state: FoldedState, record: LogRecord, blobs: Blobs): Later {
  if (record.blob !== undefined)
    return withBlob(record, blobs, (read) =>
      applyAuditRecord(state, auditRecordOf({ ...record, data: read() })),
    )
  applyAuditRecord(state, auditRecordOf(record))
}

/** Reads the data of a record. If that fails, `read` throws: a slot without its value is broken. */
async function withBlob(
  { blob }: LogRecord,
  blobs: Blobs,
  apply: (read: () => unknown) => void,
): Promise<void> {
  if (blob === undefined) return
  let read: () => unknown
  try {
    const json = await blobs.get(blob)
    read = () => JSON.parse(json)
  } catch (error) {
    read = () => {
      throw error
    }
  }
  apply(read)
}

/** A reader looks at the time after this many records. */
const recordsPerLook = 32

/** Reads records of a session and their data. */
export async function* readWithData(
  { blobs, paths: { root } }: SessionDirectory,
  id: string,
  read: () => Iterable<LogRecord>,
): AsyncGenerator<LogRecord> {
  let records = 0
  try {
    await giveWay()
    for (const record of read()) {
      yield record.blob === undefined
        ? record
        : { ...record, data: JSON.parse(await blobs.get(record.blob)) as unknown }
      if (++records % recordsPerLook === 0) await giveWay()
    }
  } catch (error) {
    throw sessionFileError(error, `read session ${id}`, root)
  }
}
