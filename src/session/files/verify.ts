import {
  type BlobName,
  type CheckedHeader,
  checkpointOn,
  furthestCheckpoint,
  hasBlob,
  parseLogRecord,
} from '../log/record.ts'
import type { Blobs } from '../log/blobs.ts'
import type { Line } from '../log/lines.ts'
import type { LogFiles } from '../log/log-files.ts'
import { type LogPositions, logStart } from '../log/log-end.ts'
import { scanLog, type Scanned, type ScanOptions } from '../log/scan.ts'
import type { Later } from '../../base/fs/disk.ts'
import { errorCode } from '../../base/errors/stint-error.ts'
import { attestedBy, type Manifest } from '../manifest.ts'
import type { Health, LogHealth } from '../store.ts'
import type { SessionDirectory } from './session-directory.ts'

export interface VerifyOptions {
  manifest: Manifest
  /** Where the writer that released the lock says that the logs end. */
  released?: LogPositions
  /** Called with the number of bytes that have been read. */
  onBytes?: (done: number) => void
}

/**
 * Reads every line of both logs and every blob that a line names. The logs alone do not show that
 * their end was cut off, or that the audit log was rewritten. Each close, each snapshot and the journal's
 * checkpoints attest them.
 */
export async function verifySession(
  { logs, snapshots, blobs }: SessionDirectory,
  { manifest, released, onBytes }: VerifyOptions,
): Promise<Health> {
  const attested = attestedBy(manifest)
  let checkpoint = attested.audit
  let [seq, done] = [Math.max(attested.seq, released?.journal.seq ?? 0), 0]
  for (const { ends } of snapshots.newestFirst()) {
    seq = Math.max(seq, ends.journal.seq)
    checkpoint = furthestCheckpoint([checkpoint, { count: ends.audit.seq, head: ends.audit.sum }])
  }
  const missing: string[] = []
  const checkBlob = (line: Line, header: CheckedHeader): Later => {
    onBytes?.((done += line.next - line.offset))
    const blob = hasBlob(line, header) ? parseLogRecord(line.bytes).blob : undefined
    return blob && findMissing(blobs, blob, missing)
  }
  const journal = await scanAll(logs.journal, seq, (line, header) => {
    checkpoint = furthestCheckpoint([checkpoint, checkpointOn(line)])
    return checkBlob(line, header)
  })
  let foundHead: string | undefined
  const audit = await scanAll(
    logs.audit,
    Math.max(checkpoint?.count ?? 0, released?.audit.seq ?? 0),
    (line, header) => {
      if (header.seq === checkpoint?.count) foundHead = logs.audit.codec.sumOf(line.bytes)
      return checkBlob(line, header)
    },
  )
  const health = { journal: healthOf(journal), audit: healthOf(audit), blobs: missing }
  if (foundHead !== undefined && foundHead !== checkpoint?.head) {
    health.audit.state = 'damaged'
    health.audit.findings.push(`line ${checkpoint?.count} is not the one that was attested`)
  }
  const isWhole = health.journal.state === 'whole' && health.audit.state === 'whole'
  return { ...health, ok: isWhole && missing.length === 0 }
}

const scanAll = (files: LogFiles, attestedSeq: number, onRecord: ScanOptions['onRecord']): Promise<Scanned> =>
  scanLog(files, { from: logStart(files.log), attestedSeq, onRecord })

function healthOf({ state, records, bytes, end, torn, ignored, bad }: Scanned): LogHealth {
  const findings: string[] = []
  if (bad !== undefined)
    findings.push(`record ${bad.seq} is missing or changed, in ${bad.segment} at byte ${bad.offset}`)
  for (const { segment, offset, bytes: length } of torn)
    findings.push(
      `torn: ${length} bytes of ${segment} from byte ${offset} on were never acknowledged, or are the last group`,
    )
  for (const { segment, offset, bytes: length } of ignored)
    findings.push(
      `ignored: ${length} bytes of ${segment} from byte ${offset} on, of a writer that had lost the session`,
    )
  return { state, records, bytes, lastSeq: end.seq, head: end.sum, findings }
}

/** Adds the hash of a blob to `missing` if it is missing or changed. */
export async function findMissing(blobs: Blobs, blob: BlobName, missing: string[]): Promise<void> {
  try {
    await blobs.get(blob)
  } catch (error) {
    // A blob that cannot be opened now, because descriptors have run out for example, need not be damaged.
    if (errorCode(error) !== 'BLOB_MISSING') throw error
    missing.push(String(blob.sha256))
  }
}
