import type { Later } from '../../base/fs/disk.ts'
import { errorCode, errorMessage } from '../../base/errors/stint-error.ts'
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
import { emptyLogEnds, type LogEnd, type LogEnds } from './codec.ts'
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
interface RecoveredLogs {
  state: FoldedState
  /** The last record in the snapshot that recovery began with. */
  snapshot: number | undefined
  saved: SavedSlots
  journal: ScannedLog
  audit: ScannedLog
  /** Is the last line of the audit log another one than is attested outside of it? */
  isAuditReplaced: boolean
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
  const isAuditReplaced = head !== undefined && head.count === audit.end.seq && head.head !== audit.end.sum
  return { state, snapshot: ends.journal.seq, saved, journal, audit, isAuditReplaced }
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

/** Is a record missing or changed? A verification says which. */
export const isDamaged = (
  { ends }: ReadableMedium,
  { journal, audit, isAuditReplaced }: RecoveredLogs,
): boolean => isAuditReplaced || differsFrom(ends.journal, journal) || differsFrom(ends.audit, audit)

const differsFrom = ({ seq, sum }: LogEnd, { bad, end }: ScannedLog): boolean =>
  bad !== undefined || (sum !== '' && seq === end.seq && sum !== end.sum)
