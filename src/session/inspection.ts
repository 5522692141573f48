import { type AuditRecord, auditRecordOf } from './audit-record.ts'
import { newestFirst, replay, verifyByReading } from './driver-defaults.ts'
import type { ReadableSession, RecordRange } from './driver.ts'
import { checkedRange, readLatest, visibleEvents } from './events.ts'
import type { Inspection } from './store.ts'

/** Reads a session. */
export function inspectionOf(session: ReadableSession): Inspection {
  const { manifest } = session
  const state = async () => (await session.state?.()) ?? (await replay(session)).state
  return {
    // A driver may have to read for it, and most callers need other things.
    get summary() {
      return session.summary
    },
    manifest,
    health: (onBytes) => session.verify?.(onBytes) ?? verifyByReading(session, onBytes),
    events: (options = {}) => visibleEvents(session, options),
    tail: (count, options) => readLatest(newestFirst(session), count, options),
    audit: (range) => readAudit(session, range),
    async unsettled() {
      const { unsettled } = await state()
      return [...unsettled.values()]
    },
    async slots() {
      const { slots } = await state()
      return Object.fromEntries([...slots].map(([ext, { version, value }]) => [ext, { version, value }]))
    },
  }
}

async function* readAudit(session: ReadableSession, range: RecordRange = {}): AsyncGenerator<AuditRecord> {
  for await (const record of session.records('audit', checkedRange(range))) yield auditRecordOf(record)
}
