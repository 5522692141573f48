import { StintError } from '../primitives/stint-error.ts'
import type { Health, LogHealth } from './store.ts'

/** What verification has found, as the error it is; undefined if all is there. A tear is none: the next resume cuts it off. */
export function damageFound(id: string, { journal, audit, blobs }: Health): StintError | undefined {
  return damagedLog(id, 'journal', journal) ?? auditDamage(id, audit) ?? missingBlobs(id, blobs)
}

/** The same for the audit log alone. */
export const auditDamage = (id: string, audit: LogHealth): StintError | undefined =>
  damagedLog(id, 'audit log', audit)

function damagedLog(
  id: string,
  log: 'journal' | 'audit log',
  { state, findings, lastSeq }: LogHealth,
): StintError | undefined {
  if (state !== 'damaged') return undefined
  const code = log === 'journal' ? 'JOURNAL_CORRUPT' : 'AUDIT_CORRUPT'
  const message = `the ${log} of ${id} is damaged: ${findings.join('; ')}`
  return new StintError(code, message, { detail: `readable=${lastSeq}` })
}

function missingBlobs(id: string, blobs: readonly string[]): StintError | undefined {
  const [first] = blobs
  if (first === undefined) return undefined
  const more = blobs.length > 1 ? ` and ${blobs.length - 1} more` : ''
  return new StintError('BLOB_MISSING', `blob ${first}${more} of ${id} is missing or changed`, {
    detail: `blobs=${blobs.length}`,
  })
}
