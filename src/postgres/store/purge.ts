import { claimsKeys, sweepKey } from '../../lease/index.ts'
import { Database, type Query } from '../database.ts'
import type { PostgresPool } from '../pool.ts'
import { postgresLeases } from '../leases.ts'
import { forgetWanted } from '../waiters.ts'

export interface PurgeOptions {
  pool: PostgresPool
  /** Delete only sessions that were removed longer ago than this, in milliseconds; 30 days by default. */
  olderThanMs?: number
}

export const defaultPurgeAgeMs = 30 * 24 * 3_600_000

export interface PurgeReport {
  sessions: number
  records: number
  /** Claims of sessions that are gone. */
  claims: number
}

const tables = ['journal', 'audit', 'revision', 'blob', 'state'] as const

/**
 * Deletes removed sessions, and the claims of sessions that are gone, for good. The role must be allowed to
 * delete.
 *
 * @example
 * await purge({ pool, olderThanMs: 7 * 24 * 3_600_000 })
 */
export async function purge({ pool, olderThanMs = defaultPurgeAgeMs }: PurgeOptions): Promise<PurgeReport> {
  const report = { sessions: 0, records: 0, claims: await purgeClaims(pool) }
  const database = new Database({ pool })
  await forgetWanted(database, olderThanMs)
  // A transaction for each session, so that other processes never wait long for a lock.
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
        await deleteRecords(query, String(session.key))
        return Number(session.head_seq)
      },
      { long: true },
    )
    if (records === undefined) return report
    report.sessions += 1
    report.records += records
  }
}

/** Deletes a removed session for good. */
export async function deleteSession(query: Query, key: string): Promise<void> {
  const sql = 'DELETE FROM stint.session WHERE key = $1 AND removed_at IS NOT NULL RETURNING key'
  const [session] = await query(sql, key)
  // Another process may have restored it meanwhile.
  if (session !== undefined) await deleteRecords(query, key)
}

async function deleteRecords(query: Query, key: string): Promise<void> {
  for (const table of tables) await query(`DELETE FROM stint.${table} WHERE session = $1`, key)
}

/** Removes the claims that are not in force any more. Their rows stay: an epoch must not come again. */
async function purgeClaims(pool: PostgresPool): Promise<number> {
  const leases = postgresLeases({ pool })
  let claims = 0
  for (const key of await claimsKeys(leases)) claims += await sweepKey(leases, key)
  return claims
}
