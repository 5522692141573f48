import type { PostgresPool } from '../../postgres/pool.ts'
import { assertSchema, knownVersion, readSchemaVersion } from '../../postgres/schema.ts'
import { systemClock } from '../../base/process/clock.ts'
import { StintError } from '../../base/errors/stint-error.ts'
import { askServer } from '../health/ask-server.ts'
import { type Check, fine } from '../health/check.ts'

/** Does the server answer, may we write, has it our tables? What it says of the way there never has a password in it. */
export const checkPostgres = (pool: PostgresPool): Promise<Check> =>
  askServer(async () => {
    const schema = await readSchemaVersion(pool)
    assertSchema(schema, knownVersion)
    const before = systemClock.mono()
    const { rows } = await pool.query(`SELECT current_setting('transaction_read_only') AS read_only`)
    const tookMs = Math.round((systemClock.mono() - before) * 10) / 10
    if (rows[0]?.read_only === 'on')
      throw new StintError(
        'POSTGRES_READ_ONLY',
        'the server accepts no writes: it is a replica, or read-only by default',
      )
    return fine('postgres', `schema version ${schema.version}, an answer takes ${tookMs} ms`)
  })
