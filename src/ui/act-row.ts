import type { ActRow, AuditRecord, Pending } from './protocol.ts'

type AuditLine = AuditRecord | Pending<AuditRecord>

/** The act that an audit line begins. An outcome whose intent is missing is an act that took no time. */
export const actRowOf = (line: AuditLine): ActRow => ({
  seq: line.seq ?? null,
  act: line.act ?? null,
  at: line.at,
  type: line.type === 'note' ? 'note' : 'act',
  action: line.action,
  subject: line.subject ?? null,
  key: line.key ?? null,
  outcome: line.type === 'outcome' ? actOutcomeOf(line, line.at) : null,
  detail: line.detail ?? null,
})

/** The outcome of an act, from its audit line and the time at which the act began. */
export const actOutcomeOf = (
  { at, ok, error }: AuditLine,
  begunAt: number,
): NonNullable<ActRow['outcome']> => ({
  at,
  duration_ms: Math.max(0, at - begunAt),
  ok: ok === true,
  error: error?.message ?? null,
})
