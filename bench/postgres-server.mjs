// A PostgreSQL server for the benches: the one of the tests, whose code is TypeScript.
import { join } from 'node:path'
import { build } from 'esbuild'

const file = join(import.meta.dirname, 'bin/postgres-server.mjs')

/** Started, with the schema in its database `postgres`. Its commits reach the disk, as those of a real one do. */
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
