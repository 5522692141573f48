import type { Later } from '../../base/fs/disk.ts'
import { errorCode, errorMessage, StintError } from '../../base/errors/stint-error.ts'
import {
  applyAuditRecord,
  auditRecordOf,
  emptyState,
  type FoldedState,
  slotType,
  type StoredSlot,
  turnType,
} from '../state.ts'
import { attestedBy } from '../manifest.ts'
import type { ReadableMedium } from '../medium.ts'
import { logDamaged } from '../session-errors.ts'
import { emptyLogEnds, type LogEnds, type LogName } from './codec.ts'
import { readBlob } from './read.ts'
import {
  type AuditCheckpoint,
  type BlobName,
  furthestCheckpoint,
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
  attested: LogEnds,
): Promise<RecoveredLogs | undefined> {
  const revised = attestedBy(medium.manifest)
  let checkpoint: AuditCheckpoint | undefined
  const journal = await scanLog(medium, 'journal', {
    from: ends.journal,
    attestedSeq: () => Math.max(revised.seq, attested.journal.seq, medium.ends.journal.seq),
    onRecord(line, header) {
      checkpoint = header.audit ?? checkpoint
      if (!header.isOwn) return undefined
      const record = parseLogRecord(line.bytes)
      if (record.slot !== undefined) lacking.delete(record.slot.ext)
      return foldJournal(state, record, medium)
    },
  })
  const audit = await scanLog(medium, 'audit', {
    from: ends.audit,
    attestedSeq: () =>
      Math.max(revised.audit?.count ?? 0, attested.audit.seq, checkpoint?.count ?? 0, medium.ends.audit.seq),
    onRecord: (line) => foldAudit(state, parseLogRecord(line.bytes), medium),
  })
  if (journal === undefined || audit === undefined) return undefined
  // The manifest of a fork or a repaired copy may attest more of the audit log than its journal does.
  const head = furthestCheckpoint([revised.audit, checkpoint])
  const isMismatch = head !== undefined && head.count === audit.end.seq && head.head !== audit.end.sum
  const auditMismatch = isMismatch ? head : undefined
  return { state, snapshot: ends.journal.seq, saved, journal, audit, auditMismatch }
}

/** Applies a record of the journal to the state; a promise if the value of its slot is in a blob. */
function foldJournal(state: FoldedState, record: LogRecord, medium: ReadableMedium): Later {
  const { type, slot, blob, data } = record
  if (type === turnType) state.turns += 1
  if (type !== slotType || slot === undefined) return undefined
  const { ext, version } = slot
  const set = (stored: Omit<StoredSlot, 'version'>): void => void state.slots.set(ext, { version, ...stored })
  return blob === undefined ? set({ value: data }) : readSlot(medium, blob).then(set)
}

/** The value of a slot in a blob. A slot without its value is broken. */
async function readSlot(medium: ReadableMedium, blob: BlobName): Promise<Omit<StoredSlot, 'version'>> {
  try {
    return { value: JSON.parse(await readBlob(medium, blob)) as unknown }
  } catch (error) {
    // A disk that fails now may work on the next resume, but a slot that is marked broken stays broken.
    if ((errorCode(error) ?? 'BLOB_MISSING') !== 'BLOB_MISSING') throw error
    return { value: undefined, broken: errorMessage(error) }
  }
}

function foldAudit(state: FoldedState, record: LogRecord, medium: ReadableMedium): Later {
  const fold = (data: unknown): void => applyAuditRecord(state, auditRecordOf({ ...record, data }))
  if (record.blob === undefined) return fold(record.data)
  return readBlob(medium, record.blob).then((json) => fold(JSON.parse(json)))
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
