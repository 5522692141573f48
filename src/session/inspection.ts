import { type AuditRecord, auditRecordOf } from './audit-record.ts'
import { checkedRange, type RecordRange, readLatest, type SessionRecords, visibleEvents } from './events.ts'
import { readBackwards, readRecords } from './log/read.ts'
import { recoverLogs } from './log/recover.ts'
import { verifyLogs } from './log/verify.ts'
import { attestedBy } from './manifest.ts'
import type { ReadableMedium } from './medium.ts'
import type { Inspection } from './store.ts'

/** Reads a session. */
export function inspectionOf(medium: ReadableMedium): Inspection {
  const { manifest } = medium
  // A fork may end within an append of several records: its manifest says that they count.
  const attested = attestedBy(manifest).seq
  const session: SessionRecords = {
    records: (log, range) => readRecords(medium, log, { ...range, attested }),
    newestFirst: () => readBackwards(medium, 'journal', { attested }),
  }
  return {
    // A medium may have to read for it, and most callers need other things.
    get summary() {
      return medium.summary
    },
    manifest,
    health: (onBytes) => verifyLogs(medium, onBytes),
    events: (options = {}) => visibleEvents(session, options),
    tail: (count, options) => readLatest(session.newestFirst(), count, options),
    audit: (range) => readAudit(session, range),
    async unsettled() {
      const { unsettled } = (await recoverLogs(medium)).state
      return [...unsettled.values()]
    },
    async slots() {
      const { slots } = (await recoverLogs(medium)).state
      return Object.fromEntries([...slots].map(([ext, { version, value }]) => [ext, { version, value }]))
    },
  }
}

async function* readAudit(session: SessionRecords, range: RecordRange = {}): AsyncGenerator<AuditRecord> {
  for await (const record of session.records('audit', checkedRange(range))) yield auditRecordOf(record)
}
