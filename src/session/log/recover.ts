import type { Later } from '../../base/fs/disk.ts'
import { StintError } from '../../base/errors/stint-error.ts'
import { auditRecordOf } from '../audit-record.ts'
import { attestedBy } from '../manifest.ts'
import type { ReadableMedium } from '../medium.ts'
import { logDamaged } from '../session-errors.ts'
import {
  applyAuditRecord,
  applyJournalRecord,
  emptyState,
  type FoldedState,
  ownPrefix,
  slotType,
} from '../state.ts'
import { readBlob } from './blobs.ts'
import { emptyLogEnds } from './codec.ts'
import type { LogEnds, LogName } from './log-end.ts'
import {
  type AuditCheckpoint,
  checkpointOn,
  furthestCheckpoint,
  hasTypePrefix,
  type LogRecord,
  parseLogRecord,
} from './record.ts'
import { type ScannedLog, scanLog } from './scan.ts'
import { readSnapshot, type SavedSlots, type Snapshot } from './snapshot.ts'

/** The state of a session, and the condition of its logs. */
export interface RecoveredLogs {
  state: FoldedState
  /** The last record in the snapshot that recovery began with. */
  snapshot: number | undefined
  saved: SavedSlots
  journal: ScannedLog
  audit: ScannedLog
  /** Set if the last line of the audit log is not the one that is attested outside of it. */
  auditMismatch: AuditCheckpoint | undefined
}

/**
 * Loads the snapshot, if it fits the logs, and replays the records after it; otherwise all records. Changes
 * nothing.
 */
export async function recoverLogs(medium: ReadableMedium): Promise<RecoveredLogs> {
  const snapshot = await readSnapshot(medium)
  // A snapshot that does not fit still attests that the logs had come so far.
  const attested = snapshot?.ends ?? emptyLogEnds
  const recovered = snapshot && (await replay(medium, snapshot, attested))
  if (recovered !== undefined && snapshot?.lacking.size === 0) return recovered
  const nothing = { ends: emptyLogEnds, state: emptyState(), saved: new Map(), lacking: new Set<string>() }
  const replayed = await replay(medium, nothing, attested)
  if (replayed === undefined) throw new Error('a log has no beginning')
  return { ...replayed, snapshot: undefined }
}

/** Replays what follows a snapshot; undefined if the logs do not have its ends. */
async function replay(
  medium: ReadableMedium,
  { ends, state, saved, lacking }: Snapshot,
  known: LogEnds,
): Promise<RecoveredLogs | undefined> {
  const revised = attestedBy(medium.manifest)
  let checkpoint: AuditCheckpoint | undefined
  const journal = await scanLog(medium, 'journal', {
    from: ends.journal,
    attestedSeq: () => Math.max(revised.seq, known.journal.seq, medium.ends.journal.seq),
    onRecord(line, header) {
      checkpoint = checkpointOn(line) ?? checkpoint
      if (!hasTypePrefix(line, header, ownTypes)) return undefined
      const record = parseLogRecord(line.bytes)
      if (record.slot !== undefined) lacking.delete(record.slot.ext)
      return foldJournal(state, record, medium)
    },
  })
  const audit = await scanLog(medium, 'audit', {
    from: ends.audit,
    attestedSeq: () =>
      Math.max(revised.audit?.count ?? 0, known.audit.seq, checkpoint?.count ?? 0, medium.ends.audit.seq),
    onRecord: (line) => foldAudit(state, parseLogRecord(line.bytes), medium),
  })
  if (journal === undefined || audit === undefined) return undefined
  // The manifest of a fork or a repaired copy may attest more of the audit log than its journal does.
  const head = furthestCheckpoint([revised.audit, checkpoint])
  const isMismatch = head !== undefined && head.count === audit.end.seq && head.head !== audit.end.sum
  const auditMismatch = isMismatch ? head : undefined
  return { state, snapshot: ends.journal.seq, saved, journal, audit, auditMismatch }
}

const ownTypes = Buffer.from(ownPrefix)

/** Applies a record of the journal to the state; a promise if the value of its slot is in a blob. */
function foldJournal(state: FoldedState, record: LogRecord, medium: ReadableMedium): Later {
  if (record.blob !== undefined && record.type === slotType)
    return withBlob(record, medium, (read) => applyJournalRecord(state, record, read))
  applyJournalRecord(state, record, () => record.data)
}

function foldAudit(state: FoldedState, record: LogRecord, medium: ReadableMedium): Later {
  if (record.blob !== undefined)
    return withBlob(record, medium, (read) =>
      applyAuditRecord(state, auditRecordOf({ ...record, data: read() })),
    )
  applyAuditRecord(state, auditRecordOf(record))
}

/** Reads the data of a record. If that fails, `read` throws: a slot without its value is broken. */
async function withBlob(
  { blob }: LogRecord,
  medium: ReadableMedium,
  apply: (read: () => unknown) => void,
): Promise<void> {
  if (blob === undefined) return
  let read: () => unknown
  try {
    const json = await readBlob(medium, blob)
    read = () => JSON.parse(json)
  } catch (error) {
    read = () => {
      throw error
    }
  }
  apply(read)
}

/** The damage that a recovery has found, as an error; undefined if both logs are intact. */
export function damageRecovered(
  { manifest: { session_id: id }, ends }: ReadableMedium,
  { journal, audit, auditMismatch }: RecoveredLogs,
): StintError | undefined {
  for (const [log, scanned] of Object.entries({ journal, audit }) as [LogName, ScannedLog][]) {
    if (scanned.bad !== undefined) return damagedAt(id, log, scanned)
    const { seq, sum } = ends[log]
    if (sum !== '' && seq === scanned.end.seq && sum !== scanned.end.sum)
      return damagedAt(id, log, { ...scanned, bad: { seq, segment: '', offset: 0, isCutOff: false } })
  }
  if (auditMismatch === undefined) return undefined
  const { count } = auditMismatch
  return new StintError(
    'AUDIT_CORRUPT',
    `the audit log of ${id} is not the one that its journal attests at line ${count}`,
  )
}

function damagedAt(id: string, log: LogName, { bad, end }: ScannedLog): StintError {
  const { seq, segment, offset } = bad ?? { seq: end.seq, segment: '', offset: 0 }
  const place = segment === '' ? '' : ` segment=${segment} offset=${offset}`
  return logDamaged(id, log, missingAt(seq, segment, offset), {
    detail: `seq=${seq}${place} readable=${end.seq}`,
  })
}

/** Says which record is missing or changed, and where, if the medium knows. */
export const missingAt = (seq: number, segment: string, offset: number): string =>
  `record ${seq} is missing or changed${segment === '' ? '' : `, in ${segment} at byte ${offset}`}`
