import { StintError } from '../base/errors/stint-error.ts'
import type { Health, LogHealth } from './store.ts'

/**
 * What verification has found, as the error it is; undefined if all is there. A tear is none: the next resume cuts it off. `hint`: what to do
 * where a session cannot be repaired.
 */
export function damageFound(
  id: string,
  { journal, audit, blobs }: Health,
  hint?: string,
): StintError | undefined {
  return damagedLog(id, 'journal', journal, hint) ?? auditDamage(id, audit, hint) ?? missingBlobs(id, blobs)
}

/** The same for the audit log alone. */
export const auditDamage = (id: string, audit: LogHealth, hint?: string): StintError | undefined =>
  damagedLog(id, 'audit log', audit, hint)

function damagedLog(
  id: string,
  log: 'journal' | 'audit log',
  { state, findings, lastSeq }: LogHealth,
  hint: string | undefined,
): StintError | undefined {
  if (state !== 'damaged') return undefined
  const code = log === 'journal' ? 'JOURNAL_CORRUPT' : 'AUDIT_CORRUPT'
  const message = `the ${log} of ${id} is damaged: ${findings.join('; ')}`
  return new StintError(code, message, { detail: `readable=${lastSeq}`, hint })
}

function missingBlobs(id: string, blobs: readonly string[]): StintError | undefined {
  const [first] = blobs
  if (first === undefined) return undefined
  const more = blobs.length > 1 ? ` and ${blobs.length - 1} more` : ''
  return new StintError('BLOB_MISSING', `blob ${first}${more} of ${id} is missing or changed`, {
    detail: `blobs=${blobs.length}`,
  })
}
