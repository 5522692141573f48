import { StintError } from '../primitives/stint-error.ts'
import type { Health } from './store.ts'

/** What verification has found, as the error it is; undefined if all is there. A tear is none: the next resume cuts it off. */
export function damageFound(id: string, { journal, audit, blobs }: Health): StintError | undefined {
  if (journal.state === 'damaged')
    return new StintError(
      'JOURNAL_CORRUPT',
      `the journal of ${id} is damaged: ${journal.findings.join('; ')}`,
      {
        detail: `readable=${journal.lastSeq}`,
      },
    )
  if (audit.state === 'damaged')
    return new StintError(
      'AUDIT_CORRUPT',
      `the audit log of ${id} is damaged: ${audit.findings.join('; ')}`,
      {
        detail: `readable=${audit.lastSeq}`,
      },
    )
  const [first] = blobs
  if (first === undefined) return undefined
  const more = blobs.length > 1 ? ` and ${blobs.length - 1} more` : ''
  return new StintError('BLOB_MISSING', `blob ${first}${more} of ${id} is missing or changed`, {
    detail: `blobs=${blobs.length}`,
  })
}
