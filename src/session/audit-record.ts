import type { LogRecord } from './log/record.ts'

/** A line of the audit log. */
export interface AuditRecord {
  seq: number
  /** Milliseconds since the epoch. */
  at: number
  /** An intent is recorded before an act, its outcome after; a note stands alone. */
  type: 'intent' | 'outcome' | 'note'
  /** Names the act; an outcome has its intent's. */
  act?: string
  action: string
  subject?: string
  key?: string
  /** An outcome's: did it succeed? */
  ok?: boolean
  /** An outcome's: what the act returned. */
  result?: unknown
  /** An outcome's: why it failed. */
  error?: { code?: string; message: string }
  detail?: unknown
  hash: string
}

/** An intent without an outcome: the act was done, or not, or half. */
export interface UnsettledAct {
  act: string
  seq: number
  at: number
  action: string
  subject?: string
  key?: string
}

type AuditLine = Pick<LogRecord, 'seq' | 'at' | 'type' | 'data' | 'hash'>

/** The audit record of a line. */
export function auditRecordOf({ seq, at, type, data, hash = '' }: AuditLine): AuditRecord {
  const fields = typeof data === 'object' && data !== null ? (data as Partial<AuditRecord>) : {}
  const kind = type === 'intent' || type === 'outcome' ? type : 'note'
  return { ...fields, seq, at, type: kind, action: String(fields.action ?? ''), hash }
}
