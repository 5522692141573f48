import { StintError } from '../base/errors/stint-error.ts'
import { knownVersion } from './migrations.ts'
import type { PostgresClient, PostgresPool } from './pool.ts'

/** What the database says about its schema: `version` 0 if there is none. */
export interface SchemaVersion {
  version: number
  needs: number
}

/** Asks in two steps: a table that is not there cannot even be named. */
export async function readSchemaVersion(client: PostgresPool | PostgresClient): Promise<SchemaVersion> {
  const { rows: tables } = await client.query(`SELECT to_regclass('stint.migration') IS NOT NULL AS there`)
  if (tables[0]?.there !== true) return { version: 0, needs: 0 }
  const { rows } = await client.query(
    'SELECT coalesce(max(version), 0) AS version, coalesce(max(needs), 0) AS needs FROM stint.migration',
  )
  return { version: Number(rows[0]?.version ?? 0), needs: Number(rows[0]?.needs ?? 0) }
}

/** Refuses a schema that lacks what `wanted` brought, and one that has moved on beyond us. */
export function assertSchema(schema: SchemaVersion, wanted: number): void {
  const { version } = schema
  if (version < wanted) {
    const what =
      version === 0
        ? 'has no schema "stint" yet'
        : `has version ${version} of the schema "stint"; ${wanted} is needed`
    throw new StintError('POSTGRES_SCHEMA', `the database ${what}`, {
      detail: `schema_version=${version} wanted=${wanted}`,
    })
  }
  assertKnown(schema)
}

/** Refuses a schema that has moved on beyond us. */
export function assertKnown({ version, needs }: SchemaVersion): void {
  if (needs <= knownVersion) return
  throw new StintError(
    'POSTGRES_SCHEMA',
    `the schema "stint" has version ${version}, which needs a newer stint`,
    {
      detail: `schema_version=${version} needs=${needs} known=${knownVersion}`,
      hint: 'Install a newer version of stint.',
    },
  )
}
