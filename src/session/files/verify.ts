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
import { logStart } from '../log/log-end.ts'
import { type Scanned, type ScanOptions, scanSteps } from '../log/scan.ts'
import { runToEnd } from '../../base/process/run-generator.ts'
import { errorCode } from '../../base/errors/stint-error.ts'
import { attestedBy } from '../manifest.ts'
import type { Health, LogHealth } from '../store.ts'
import type { SessionSources } from './recover.ts'

export interface VerifyOptions extends SessionSources {
  onBytes?: (done: number) => void
}

/**
 * Reads every line of both logs and every blob that a line names, in steps. The logs alone do not show a cut at their end, or an audit log that was written anew: what
 * attests them does, that is each close, each snapshot, and the journal, which says how far the audit log had come.
 */
export function* verifyInSteps(options: VerifyOptions): Generator<void, Health> {
  const { logs, snapshots, blobs, manifest, released, onBytes } = options
  const attested = attestedBy(manifest)
  let anchor = attested.audit
  let [seq, done] = [Math.max(attested.seq, released?.journal.seq ?? 0), 0]
  for (const { ends } of snapshots.newestFirst()) {
    seq = Math.max(seq, ends.journal.seq)
    anchor = furthestCheckpoint([anchor, { count: ends.audit.seq, head: ends.audit.tail }])
  }
  const bad: string[] = []
  const look = (line: Line, header: CheckedHeader): void => {
    onBytes?.((done += line.next - line.offset))
    const blob = hasBlob(line, header) ? parseLogRecord(line.bytes).blob : undefined
    if (blob !== undefined && !isThere(blobs, blob)) bad.push(String(blob.sha256))
  }
  const journal = yield* scanAll(logs.journal, seq, (line, header) => {
    const here = checkpointOn(line)
    if (here !== undefined) anchor = furthestCheckpoint([anchor, here])
    look(line, header)
  })
  let headThere: string | undefined
  const audit = yield* scanAll(
    logs.audit,
    Math.max(anchor?.count ?? 0, released?.audit.seq ?? 0),
    (line, header) => {
      if (header.seq === anchor?.count) headThere = logs.audit.codec.tailOf(line.bytes)
      look(line, header)
    },
  )
  const health = { journal: healthOf(journal), audit: healthOf(audit), blobs: bad }
  if (headThere !== undefined && headThere !== anchor?.head) {
    health.audit.state = 'damaged'
    health.audit.findings.push(`line ${anchor?.count} is not the one that was attested`)
  }
  const whole = health.journal.state === 'whole' && health.audit.state === 'whole'
  return { ...health, ok: whole && bad.length === 0 }
}

/** The same at once. */
export const verifySession = (options: VerifyOptions): Health => runToEnd(verifyInSteps(options))

const scanAll = (place: LogFiles, attestedSeq: number, take: ScanOptions['take']): Generator<void, Scanned> =>
  scanSteps(place, { from: logStart(place.log), attestedSeq, take })

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
  return { state, records, bytes, lastSeq: end.seq, head: end.tail, findings }
}

function isThere(blobs: Blobs, blob: BlobName): boolean {
  try {
    blobs.get(blob)
    return true
  } catch (error) {
    if (errorCode(error) === 'BLOB_MISSING') return false
    // One that cannot be opened now, for want of a descriptor for example, need not be damaged.
    throw error
  }
}
