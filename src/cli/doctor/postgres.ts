import { knownVersion } from '../../postgres/migrations.ts'
import { explainPostgres } from '../../postgres/explain.ts'
import type { PostgresPool } from '../../postgres/pool.ts'
import { assertSchema, readSchemaVersion } from '../../postgres/schema-version.ts'
import { Late, within } from '../../postgres/within.ts'
import { systemClock } from '../../primitives/clock.ts'
import { StintError } from '../../primitives/stint-error.ts'
import { failureOf } from '../health/attempt.ts'
import { type Check, fine } from '../health/check.ts'

const patienceMs = 5000

/** Does the server answer, may we write, has it our tables? What it says of the way there never has a password in it. */
export async function checkPostgres(open: () => PostgresPool | Promise<PostgresPool>): Promise<Check> {
  try {
    const pool = await open()
    const { version, tookMs } = await within(patienceMs, () => ask(pool))
    return fine('postgres', `schema version ${version}, an answer takes ${tookMs} ms`)
  } catch (error) {
    return failureOf('postgres', error instanceof Late ? silent(error) : explainPostgres(error))
  }
}

async function ask(pool: PostgresPool): Promise<{ version: number; tookMs: number }> {
  const schema = await readSchemaVersion(pool)
  assertSchema(schema, knownVersion)
  const before = systemClock.mono()
  const { rows } = await pool.query(`SELECT current_setting('transaction_read_only') AS read_only`)
  const tookMs = Math.round((systemClock.mono() - before) * 10) / 10
  if (rows[0]?.read_only === 'on')
    throw new StintError(
      'POSTGRES_READ_ONLY',
      'the server takes no writes: it is a replica, or the role may not',
    )
  return { version: schema.version, tookMs }
}

const silent = ({ message }: Late): StintError =>
  new StintError('POSTGRES_UNAVAILABLE', `cannot reach PostgreSQL: ${message}`)
