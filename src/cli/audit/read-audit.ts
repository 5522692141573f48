import type { AuditRecord } from '../../audit/record.ts'
import { StintError } from '../../primitives/stint-error.ts'
import type { Inspection } from '../../store/store.ts'

/** Reads all lines of the audit log; what is damaged about it, if anything is, is told afterwards and never passed over. */
export async function readAudit(
  id: string,
  inspection: Inspection,
  take: (record: AuditRecord) => void,
): Promise<StintError | undefined> {
  for await (const record of inspection.audit()) take(record)
  return auditDamage(id, await inspection.health())
}

/** The damage of an audit log as the error it is. */
export function auditDamage(
  id: string,
  { audit }: Awaited<ReturnType<Inspection['health']>>,
): StintError | undefined {
  if (audit.state !== 'damaged') return undefined
  return new StintError('AUDIT_CORRUPT', `the audit log of ${id} is damaged: ${audit.findings.join('; ')}`, {
    detail: `readable=${audit.lastSeq}`,
  })
}
