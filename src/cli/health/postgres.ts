import { StintError } from '../../base/errors/stint-error.ts'
import { type AllClaims, allClaims } from '../../lease/index.ts'
import { openPool } from '../../postgres/commands/open-pool.ts'
import { openPostgresLeases, openPostgresStore } from '../../postgres/commands/open-postgres.ts'
import { askWithin } from '../../postgres/database.ts'
import { assertSchema, readSchemaVersion } from '../../postgres/schema.ts'
import type { SessionSummary } from '../../session/index.ts'

/** Milliseconds to wait for the server: a slow one must not hold up the other checks. */
const patienceMs = 5000

/** The claims and sessions that a team keeps on its server. */
export interface ServerContents extends AllClaims {
  sessions: SessionSummary[]
}

/** Reads the server. Throws if it does not answer, lacks our tables, or accepts no writes. */
export async function readServer(url: string): Promise<ServerContents> {
  const pool = openPool(url)
  return await askWithin(patienceMs, async () => {
    assertSchema(await readSchemaVersion(pool))
    const { rows } = await pool.query(`SELECT current_setting('transaction_read_only') AS read_only`)
    if (rows[0]?.read_only === 'on')
      throw new StintError(
        'POSTGRES_READ_ONLY',
        'the server accepts no writes: it is a replica, or read-only by default',
      )
    return {
      ...(await allClaims(openPostgresLeases(url))),
      sessions: await openPostgresStore(url).list(),
    }
  })
}
