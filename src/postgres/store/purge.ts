import type { PostgresPool } from '../pool.ts'
import { sessionVersion } from '../schema.ts'
import { Database } from '../database.ts'

export interface PurgeOptions {
  pool: PostgresPool
  /** Only what was removed longer ago than this; 30 days by default. */
  olderThanMs?: number
}

export const purgeAfterMs = 30 * 24 * 3_600_000

export interface PurgeReport {
  sessions: number
  records: number
}

const tables = ['journal', 'audit', 'revision', 'blob', 'snapshot', 'state', 'spool'] as const

/**
 * Deletes removed sessions for good. Nothing is ever deleted but by this, and it takes a role that may.
 *
 * @example
 * await purge({ pool, olderThanMs: 7 * 24 * 3_600_000 })
 */
export async function purge({ pool, olderThanMs = purgeAfterMs }: PurgeOptions): Promise<PurgeReport> {
  const report = { sessions: 0, records: 0 }
  const database = new Database({ pool }, sessionVersion)
  // One at a time: however much there is, nobody waits for long.
  for (;;) {
    const records = await database.transaction(
      async (query) => {
        const [session] = await query(
          `DELETE FROM stint.session WHERE key = (SELECT key FROM stint.session
            WHERE removed_at <= clock_timestamp() - $1::float8 * interval '1 millisecond' ORDER BY key LIMIT 1)
          RETURNING key, head_seq`,
          olderThanMs,
        )
        if (session === undefined) return undefined
        for (const table of tables) await query(`DELETE FROM stint.${table} WHERE session = $1`, session.key)
        return Number(session.head_seq)
      },
      { long: true },
    )
    if (records === undefined) return report
    report.sessions += 1
    report.records += records
  }
}
