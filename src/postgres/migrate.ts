import { explainPostgres, sqlStateOf } from './explain.ts'
import { groundwork, knownVersion, migrations, recordMigration } from './migrations.ts'
import { inTransaction, type PostgresClient, type PostgresPool } from './pool.ts'
import { assertKnown, readSchemaVersion } from './schema-version.ts'

export interface MigrateReport {
  /** The version the schema had: 0 if there was none. */
  from: number
  to: number
}

/**
 * Brings the schema `stint` to the newest version; many may do so at once, and one of them does it.
 *
 * @example
 * await migrate({ pool: new pg.Pool({ connectionString }) })
 */
export async function migrate({ pool }: { pool: PostgresPool }): Promise<MigrateReport> {
  try {
    const schema = await readSchemaVersion(pool)
    assertKnown(schema)
    const { version: from } = schema
    // A role that may not change anything can still learn that there is nothing to change.
    if (from >= knownVersion) return { from, to: from }
    return await untilNobodyInterferes(() => inTransaction(pool, apply))
  } catch (error) {
    throw explainPostgres(error)
  }
}

async function apply(client: PostgresClient): Promise<MigrateReport> {
  for (const statement of groundwork) await client.query(statement)
  // From here on one at a time; released by the end of the transaction.
  await client.query('LOCK TABLE stint.migration IN SHARE ROW EXCLUSIVE MODE')
  const schema = await readSchemaVersion(client)
  assertKnown(schema)
  const { version: from } = schema
  for (const migration of migrations.slice(from)) {
    for (const statement of migration.statements) await client.query(statement)
    await client.query(recordMigration(migration))
  }
  return { from, to: Math.max(from, knownVersion) }
}

/** `IF NOT EXISTS` looks before it makes: two that look at the same time both make, and one is told that it is there already. */
const interference = new Set(['23505', '42P06', '42P07', '42710', '40P01', '40001', 'XX000'])

const maxTries = 20

async function untilNobodyInterferes<Result>(act: () => Promise<Result>): Promise<Result> {
  for (let tries = 1; ; tries++) {
    try {
      return await act()
    } catch (error) {
      if (tries >= maxTries || !interference.has(sqlStateOf(error) ?? '')) throw error
    }
  }
}
