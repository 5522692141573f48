import { StintError } from '../base/errors/stint-error.ts'
import type { LogName } from './log/log-end.ts'
import type { Health, LogHealth } from './store.ts'

/**
 * The damage that a verification has found, as an error; undefined if the session is intact. A torn tail is not damage:
 * the next resume cuts it off. `hint` replaces the advice to repair, where a store cannot.
 */
export function damageFound(
  id: string,
  { journal, audit, blobs }: Health,
  hint?: string,
): StintError | undefined {
  return damageInLog(id, 'journal', journal, hint) ?? auditDamage(id, audit, hint) ?? missingBlobs(id, blobs)
}

/** The damage that a verification has found in the audit log. */
export const auditDamage = (id: string, audit: LogHealth, hint?: string): StintError | undefined =>
  damageInLog(id, 'audit', audit, hint)

function damageInLog(
  id: string,
  log: LogName,
  { state, findings, lastSeq }: LogHealth,
  hint: string | undefined,
): StintError | undefined {
  if (state !== 'damaged') return undefined
  return logDamaged(id, log, findings.join('; '), { detail: `readable=${lastSeq}`, hint })
}

/** `JOURNAL_CORRUPT` or `AUDIT_CORRUPT`: the log has lost or changed records. `finding` says which. */
export const logDamaged = (
  id: string,
  log: LogName,
  finding: string,
  options: { detail?: string; hint?: string },
): StintError =>
  new StintError(corruptCode[log], `the ${spokenName[log]} of ${id} is damaged: ${finding}`, options)

/** `JOURNAL_CORRUPT` or `AUDIT_CORRUPT`: a fork needs records of the log that are missing or changed. */
export const logUnreadable = (id: string, log: LogName, seq: number): StintError =>
  new StintError(corruptCode[log], `the ${spokenName[log]} of ${id} cannot be read up to record ${seq}`, {
    hint: 'Fork it at an earlier record; `stint sessions verify` shows how far it is intact.',
  })

const corruptCode = { journal: 'JOURNAL_CORRUPT', audit: 'AUDIT_CORRUPT' } as const
const spokenName = { journal: 'journal', audit: 'audit log' } as const

function missingBlobs(id: string, blobs: readonly string[]): StintError | undefined {
  const [first] = blobs
  if (first === undefined) return undefined
  const more = blobs.length > 1 ? ` and ${blobs.length - 1} more` : ''
  return new StintError('BLOB_MISSING', `blob ${first}${more} of ${id} is missing or changed`, {
    detail: `blobs=${blobs.length}`,
  })
}
