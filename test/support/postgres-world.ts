import { readPage } from './doc-blocks.ts'
import { LockWorld } from './lock-world.ts'
import type { PostgresServer } from './postgres.ts'
import { migrate } from '../../src/postgres/migrate.ts'

/** Everything that the role of a team needs: what docs/postgres.md says. */
export const grants = (role: string): string =>
  (readPage('docs/postgres.md').match(/^GRANT .*;$/gm) ?? []).join('\n').replaceAll('stint_team', role)

/** A world whose leases are kept on a server, in a database of its own with the schema in it. */
export async function postgresWorld(server: PostgresServer): Promise<LockWorld & { database: string }> {
  const database = await server.createDatabase()
  const pool = server.pool({ database })
  await migrate({ pool })
  const world = new LockWorld()
  world.env.STINT_STORE = server.url({ database })
  return Object.assign(world, { database })
}
