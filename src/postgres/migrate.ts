import { inTransaction, type PostgresClient, type PostgresPool } from './pool.ts'
import { explainPostgres, sqlState } from './postgres-errors.ts'
import { assertSchema, readSchemaVersion, schemaTables, schemaVersion, versionTable } from './schema.ts'

export interface MigrateReport {
  /** False if the schema was there already. */
  created: boolean
  version: number
}

/**
 * Creates the schema `stint`, if it is missing. Of several processes that do so at once, one creates it.
 * `POSTGRES_SCHEMA` if the database has another version of it.
 *
 * @example
 * await migrate({ pool: new pg.Pool({ connectionString }) })
 */
export async function migrate({ pool }: { pool: PostgresPool }): Promise<MigrateReport> {
  try {
    // Before any write: a role that may only read can learn that the schema is there.
    const isThere = await hasSchema(pool)
    const created = !isThere && (await retryConflicts(() => inTransaction(pool, createSchema)))
    return { created, version: schemaVersion }
  } catch (error) {
    throw explainPostgres(error)
  }
}

async function hasSchema(client: PostgresPool | PostgresClient): Promise<boolean> {
  const version = await readSchemaVersion(client)
  if (version !== 0) assertSchema(version)
  return version !== 0
}

/** Returns false if another process has created it meanwhile. */
async function createSchema(client: PostgresClient): Promise<boolean> {
  for (const statement of versionTable) await client.query(statement)
  // From here on one process creates the schema, until its transaction ends.
  await client.query('LOCK TABLE stint.migration IN SHARE ROW EXCLUSIVE MODE')
  if (await hasSchema(client)) return false
  for (const statement of schemaTables) await client.query(statement)
  return true
}

/**
 * The states of a conflict between two migrations. `IF NOT EXISTS` checks before it creates: if two
 * transactions check at the same time, both create, and the server refuses the second.
 */
const conflictStates = new Set(['23505', '42P06', '42P07', '42710', '40P01', '40001', 'XX000'])

const maxTries = 20

async function retryConflicts<Result>(act: () => Promise<Result>): Promise<Result> {
  for (let tries = 1; ; tries++) {
    try {
      return await act()
    } catch (error) {
      if (tries >= maxTries || !conflictStates.has(sqlState(error) ?? '')) throw error
    }
  }
}
