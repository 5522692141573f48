import type { AuditRecord } from '../../session/audit-record.ts'
import type { StintError } from '../../base/errors/stint-error.ts'
import { auditDamage } from '../../session/session-errors.ts'
import type { OpenSession } from '../sessions/which-session.ts'

/** Reads all lines of the audit log. Damage, if there is any, is told afterwards and never passed over. */
export async function readAudit(
  { id, store, damageHint }: Pick<OpenSession, 'id' | 'store' | 'damageHint'>,
  take: (record: AuditRecord) => void,
): Promise<StintError | undefined> {
  const inspection = await store.inspect(id)
  for await (const record of inspection.audit()) take(record)
  return auditDamage(id, (await inspection.health()).audit, damageHint)
}
