import type { AuditRecord } from '../../audit/record.ts'
import type { StintError } from '../../primitives/stint-error.ts'
import { auditDamage } from '../../store/damage-found.ts'
import type { Inspection } from '../../store/store.ts'

/** Reads all lines of the audit log. Damage, if there is any, is told afterwards and never passed over. */
export async function readAudit(
  id: string,
  inspection: Inspection,
  take: (record: AuditRecord) => void,
): Promise<StintError | undefined> {
  for await (const record of inspection.audit()) take(record)
  return auditDamage(id, (await inspection.health()).audit)
}
