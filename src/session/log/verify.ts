import { attestedBy } from '../manifest.ts'
import type { ReadableMedium } from '../medium.ts'
import type { Health, LogHealth } from '../store.ts'
import { codecs, emptyLogEnd, type LogEnd, type LogName, logNames } from './codec.ts'
import { findBlob } from './read.ts'
import { type AuditCheckpoint, type BlobName, blobOf, type CheckedHeader, type Line } from './record.ts'
import { type ScannedLog, scanLog } from './scan.ts'
import { readSnapshotHead } from './snapshot.ts'

/** The sums by which a record is attested outside of its log, by `seq`; none if only its number is. */
type AttestedSums = Map<number, string[]>

/**
 * Reads every line of both logs and every blob that a line names. The logs alone do not show that their end
 * was cut off, or that the audit log was rewritten. Each close, the snapshot, the medium and the checkpoints
 * of the audit log in the journal attest them. `onBytes` is called with the number of bytes read so far.
 */
export async function verifyLogs(
  medium: ReadableMedium,
  onBytes: (done: number) => void = () => {},
): Promise<Health> {
  const attested = await readAttested(medium)
  const missing = new Set<string>()
  let done = 0
  let checkpoint: AuditCheckpoint | undefined
  const verify = async (log: LogName): Promise<LogHealth> => {
    const check = (line: Line, header: CheckedHeader): Promise<void> | undefined => {
      onBytes((done += line.next - line.offset))
      checkpoint = header.audit ?? checkpoint
      const blob = blobOf(line.bytes)
      return blob && noteMissing(medium, blob, missing)
    }
    return await verifyLog(medium, log, attested[log], check)
  }
  const journal = await verify('journal')
  if (checkpoint !== undefined) attest(attested.audit, { seq: checkpoint.count, sum: checkpoint.head })
  const audit = await verify('audit')
  const isWhole = journal.state === 'whole' && audit.state === 'whole'
  return { journal, audit, blobs: [...missing], ok: isWhole && missing.size === 0 }
}

async function readAttested(medium: ReadableMedium): Promise<Record<LogName, AttestedSums>> {
  const attested = { journal: new Map<number, string[]>(), audit: new Map<number, string[]>() }
  const add = (log: LogName, end: LogEnd): void => attest(attested[log], end)
  // The manifest of a fork attests a number without a sum.
  add('journal', { seq: attestedBy(medium.manifest).seq, sum: '' })
  for (const { seq, crc, audit } of medium.manifest.revisions) {
    if (seq !== undefined && crc !== undefined) add('journal', { seq, sum: crc })
    if (audit !== undefined) add('audit', { seq: audit.count, sum: audit.head })
  }
  const snapshot = await readSnapshotHead(medium)
  for (const log of logNames) {
    if (snapshot !== undefined) add(log, snapshot.ends[log])
    add(log, medium.ends[log])
  }
  return attested
}

function attest(attested: AttestedSums, { seq, sum }: LogEnd): void {
  attested.set(seq, [...(attested.get(seq) ?? []), ...(sum === '' ? [] : [sum])])
}

async function noteMissing(medium: ReadableMedium, blob: BlobName, missing: Set<string>): Promise<void> {
  if ((await findBlob(medium, blob)) === undefined) missing.add(String(blob.sha256))
}

async function verifyLog(
  medium: ReadableMedium,
  log: LogName,
  attested: AttestedSums,
  check: (line: Line, header: CheckedHeader) => Promise<void> | undefined,
): Promise<LogHealth> {
  const { sumOf } = codecs[log]
  const findings: string[] = []
  const furthest = Math.max(0, ...attested.keys())
  const scanned = await scanLog(medium, log, {
    from: emptyLogEnd(log),
    attestedSeq: () => furthest,
    onRecord(line, header) {
      const sums = attested.get(header.seq)
      if (sums?.some((sum) => sum !== sumOf(line.bytes)))
        findings.push(`record ${header.seq} is not the one that was attested`)
      return check(line, header)
    },
  })
  if (scanned === undefined) throw new Error('a log has no beginning')
  return healthOf(scanned, findings, furthest)
}

function healthOf(scanned: ScannedLog, findings: string[], attested: number): LogHealth {
  const { records, bytes, end, torn, bad } = scanned
  const state = findings.length > 0 ? 'damaged' : scanned.state
  if (bad?.isCutOff) findings.unshift(`it ends at record ${end.seq}, and ${attested} is attested`)
  else if (bad !== undefined) {
    const place = bad.segment === '' ? '' : `, in ${bad.segment} at byte ${bad.offset}`
    findings.unshift(`record ${bad.seq} is missing or changed${place}`)
  }
  for (const { segment, offset, bytes: length } of torn)
    findings.push(
      `torn: ${length} bytes of ${segment} from byte ${offset} on were never acknowledged, or are the last group`,
    )
  return { state, records, bytes, lastSeq: end.seq, head: end.sum, findings }
}
