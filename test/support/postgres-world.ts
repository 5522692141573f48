import { readPage } from './doc-blocks.ts'
import { LockWorld } from './lock-world.ts'
import type { PostgresServer } from './postgres.ts'
import { migrate } from '../../src/postgres/migrate.ts'

/** The grants that a role needs, as docs/postgres.md lists them. */
export const grants = (role: string): string =>
  (readPage('docs/postgres.md').match(/^GRANT .*;$/gm) ?? []).join('\n').replaceAll('stint_team', role)

/** A world with STINT_STORE set to a new database that has the schema. */
export async function postgresWorld(server: PostgresServer): Promise<LockWorld & { database: string }> {
  const database = await server.createDatabase()
  const pool = server.pool({ database })
  await migrate({ pool })
  const world = new LockWorld()
  world.env.STINT_STORE = server.url({ database })
  return Object.assign(world, { database })
}
