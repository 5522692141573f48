import type { Snapshot } from '../log/snapshot-codec.ts'
import { auditRecordOf } from '../audit-record.ts'
import {
  type AuditCheckpoint,
  checkpointOn,
  furthestCheckpoint,
  hasTypePrefix,
  type LogRecord,
  parseLogRecord,
} from '../log/record.ts'
import { Blobs } from '../log/blobs.ts'
import { logStart, type Position } from '../log/log-end.ts'
import { locatePosition } from '../log/read.ts'
import { scanLog, type Scanned } from '../log/scan.ts'
import type { Disk } from '../../base/fs/disk.ts'
import { attestedBy, type Manifest } from '../manifest.ts'
import { emptyState, type FoldedState, ownPrefix, takeAudit, takeRecord } from '../state.ts'
import { type LogPositions, type Logs, logsOf } from './logs.ts'
import type { SessionPaths } from './paths.ts'
import { Snapshots } from './snapshots.ts'

/** What the files of a session say: its state, and how its logs look. */
export interface RecoveredSession {
  state: FoldedState
  snapshot: Snapshot<Position> | undefined
  journal: Scanned
  audit: Scanned
  /** The audit log has lost, or changed, what something outside of it attests. */
  auditMismatch: AuditCheckpoint | undefined
}

export interface SessionSources {
  logs: Logs
  snapshots: Snapshots
  blobs: Blobs
  manifest: Manifest
  /** How far a writer that released the lock has come. */
  released?: LogPositions
}

/** Where all of that lies in the directory of a session. */
export const sourcesIn = (
  disk: Disk,
  paths: SessionPaths,
  manifest: Manifest,
  released?: LogPositions,
): SessionSources => ({
  logs: logsOf(disk, paths),
  snapshots: new Snapshots(disk, paths),
  blobs: new Blobs(disk, paths.blobs),
  manifest,
  released,
})

/**
 * The newest snapshot that fits the logs, and what came after it. Nothing is changed. It costs what came after the snapshot: without one,
 * everything.
 */
export function recoverSession({
  logs,
  snapshots,
  blobs,
  manifest,
  released,
}: SessionSources): RecoveredSession {
  const { snapshot, passed } = fitting(logs, snapshots)
  const state = snapshot?.state ?? emptyState()
  const revised = attestedBy(manifest)
  const attested = {
    seq: Math.max(revised.seq, passed?.journal.seq ?? 0),
    audit: Math.max(revised.audit?.count ?? 0, passed?.audit.seq ?? 0),
  }
  let anchor: AuditCheckpoint | undefined
  const journal = scanLog(logs.journal, {
    from: snapshot?.ends.journal ?? logStart('journal'),
    attestedSeq: Math.max(attested.seq, released?.journal.seq ?? 0),
    take(line, header) {
      anchor = checkpointOn(line) ?? anchor
      if (hasTypePrefix(line, header, ownMark)) foldRecord(state, parseLogRecord(line.bytes), blobs)
    },
  })
  const audit = scanLog(logs.audit, {
    from: snapshot?.ends.audit ?? logStart('audit'),
    attestedSeq: Math.max(attested.audit, anchor?.count ?? 0, released?.audit.seq ?? 0),
    take: (line) => takeAudit(state, auditRecordOf(withBlobData(parseLogRecord(line.bytes), blobs))),
  })
  // The manifest first: a fork and a repair attest what the journal, which is older, does not know.
  const head = furthestCheckpoint([revised.audit, anchor])
  const auditMismatch = head !== undefined && head.count === audit.end.seq && head.head !== audit.end.tail
  return { state, snapshot, journal, audit, auditMismatch: auditMismatch ? head : undefined }
}

/** A snapshot is a cache: one that does not fit what is there is passed over. Still it attests that the logs had come so far. */
function fitting(logs: Logs, snapshots: Snapshots): { snapshot?: Snapshot<Position>; passed?: LogPositions } {
  let passed: LogPositions | undefined
  for (const snapshot of snapshots.newestFirst()) {
    const [journal, audit] = [
      locatePosition(logs.journal, snapshot.ends.journal),
      locatePosition(logs.audit, snapshot.ends.audit),
    ]
    if (journal !== undefined && audit !== undefined)
      return { snapshot: { ...snapshot, ends: { journal, audit } }, passed }
    passed ??= snapshot.ends
  }
  return { passed }
}

const ownMark = Buffer.from(ownPrefix)

/** Takes a record of ours into the state. */
export function foldRecord(state: FoldedState, record: LogRecord, blobs: Blobs): void {
  takeRecord(state, record, () => withBlobData(record, blobs).data)
}

/** The record with its data, wherever that is. Throws `BLOB_MISSING`. */
export function withBlobData(record: LogRecord, blobs: Blobs): LogRecord {
  if (record.blob === undefined) return record
  return { ...record, data: JSON.parse(blobs.get(record.blob)) as unknown }
}
