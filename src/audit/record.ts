import type { LogRecord } from '../journal/record.ts'
import type { AuditRecord } from './entry.ts'

type AuditLine = Pick<LogRecord, 'seq' | 'at' | 'type' | 'data' | 'hash'>

/** The audit record of a line. */
export function auditRecordOf({ seq, at, type, data, hash = '' }: AuditLine): AuditRecord {
  const fields = typeof data === 'object' && data !== null ? (data as Partial<AuditRecord>) : {}
  const kind = type === 'intent' || type === 'outcome' ? type : 'note'
  return { ...fields, seq, at, type: kind, action: String(fields.action ?? ''), hash }
}
