// Starts a PostgreSQL server for the benches, with the TypeScript code of the tests.
import { join } from 'node:path'
import { build } from 'esbuild'

const file = join(import.meta.dirname, 'bin/postgres-server.mjs')

/** Starts a server with the schema in its database `postgres`. Commits are synced, as on a real server. */
export async function startPostgres(library) {
  await build({
    entryPoints: [join(import.meta.dirname, '../test/support/postgres.ts')],
    outfile: file,
    bundle: true,
    packages: 'external',
    platform: 'node',
    format: 'esm',
    logLevel: 'warning',
  })
  const { PostgresServer } = await import(file)
  const server = await PostgresServer.start({ fsync: 'on' })
  const { migrate } = await import(library)
  await migrate({ pool: server.pool() })
  return server
}
