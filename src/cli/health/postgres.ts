import { StintError } from '../../base/errors/stint-error.ts'
import { systemClock } from '../../base/process/clock.ts'
import { type AllClaims, allClaims } from '../../lease/index.ts'
import { askWithin } from '../../postgres/database.ts'
import { assertSchema, readSchemaVersion } from '../../postgres/schema.ts'
import type { SessionSummary } from '../../session/index.ts'
import { openPool } from '../../postgres/commands/open-pool.ts'
import { type Check, ok } from './check.ts'

/** Milliseconds to wait for the server: a slow one must not hold up the other checks. */
const patienceMs = 5000

/** Checks that the server answers, has our tables and accepts writes. No message ever contains a password. */
export async function checkPostgres(url: string): Promise<Check> {
  const pool = openPool(url)
  return await askWithin(patienceMs, async () => {
    const version = await readSchemaVersion(pool)
    assertSchema(version)
    const before = systemClock.mono()
    const { rows } = await pool.query(`SELECT current_setting('transaction_read_only') AS read_only`)
    const tookMs = Math.round((systemClock.mono() - before) * 10) / 10
    if (rows[0]?.read_only === 'on')
      throw new StintError(
        'POSTGRES_READ_ONLY',
        'the server accepts no writes: it is a replica, or read-only by default',
      )
    return ok('postgres', `schema version ${version}, an answer takes ${tookMs} ms`)
  })
}

/** The claims and sessions that a team keeps on its server. */
export interface ServerContents extends AllClaims {
  sessions: SessionSummary[]
}

export async function readServer(url: string): Promise<ServerContents> {
  const { openPostgresLeases, openPostgresStore } = await import('../../postgres/commands/open-postgres.ts')
  const leases = openPostgresLeases(url)
  const store = openPostgresStore(url)
  return await askWithin(patienceMs, async () => ({
    ...(await allClaims(leases)),
    sessions: await store.list(),
  }))
}
