import type { LogEntry, StoredReceipt, StoredRecord } from './log/record.ts'

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
  /** Secrets or tokens in it were replaced before it was written. */
  masked?: true
  /** Chains the line to the one before it. */
  hash: string
}

/** An intent without an outcome: the act was performed, or not, or half. */
export interface UnsettledAct {
  act: string
  seq: number
  at: number
  action: string
  subject?: string
  key?: string
}

/** The audit record of a stored record. */
export function auditRecordOf({ seq, at, type, data, masked, hash = '' }: StoredRecord): AuditRecord {
  const fields = typeof data === 'object' && data !== null ? (data as Partial<AuditRecord>) : {}
  const kind = type === 'intent' || type === 'outcome' ? type : 'note'
  const record: AuditRecord = { ...fields, seq, at, type: kind, action: String(fields.action ?? ''), hash }
  if (masked) record.masked = true
  return record
}

/** The audit record of an entry that was just written. */
export const auditRecordFrom = ({ type, json, masked }: LogEntry, receipt: StoredReceipt): AuditRecord =>
  auditRecordOf({ ...receipt, type, data: JSON.parse(json) as unknown, masked })
