import { inTransaction, type PostgresClient, type PostgresPool } from './pool.ts'
import { explainPostgres, sqlState } from './postgres-errors.ts'
import {
  assertSchemaKnown,
  createMigrationTable,
  knownVersion,
  migrations,
  readSchemaVersion,
  recordMigration,
} from './schema.ts'

export interface MigrateReport {
  /** The version that the schema had; 0 if there was none. */
  from: number
  to: number
}

/**
 * Creates the schema `stint`, or updates it to the newest version. Of several processes that do so at once,
 * one makes the changes.
 *
 * @example
 * await migrate({ pool: new pg.Pool({ connectionString }) })
 */
export async function migrate({ pool }: { pool: PostgresPool }): Promise<MigrateReport> {
  try {
    const schema = await readSchemaVersion(pool)
    assertSchemaKnown(schema)
    const { version: from } = schema
    // Before any write: a role that may only read can learn that the schema is up to date.
    if (from >= knownVersion) return { from, to: from }
    return await retryConflicts(() => inTransaction(pool, applyMigrations))
  } catch (error) {
    throw explainPostgres(error)
  }
}

async function applyMigrations(client: PostgresClient): Promise<MigrateReport> {
  for (const statement of createMigrationTable) await client.query(statement)
  // From here on one migration runs at a time, until its transaction ends.
  await client.query('LOCK TABLE stint.migration IN SHARE ROW EXCLUSIVE MODE')
  const schema = await readSchemaVersion(client)
  assertSchemaKnown(schema)
  const { version: from } = schema
  for (const migration of migrations.slice(from)) {
    for (const statement of migration.statements) await client.query(statement)
    await client.query(recordMigration(migration))
  }
  return { from, to: Math.max(from, knownVersion) }
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
