import { realpathSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import type { PostgresPool } from '../pool.ts'
import { errorCode, StintError } from '../../base/errors/stint-error.ts'

/** The part of the module `pg` that stint uses. */
interface PostgresModule {
  Pool: new (config: object) => PostgresPool & { on(event: 'error', listener: () => void): unknown }
}

const pools = new Map<string, PostgresPool>()

/** The pool for a server; one process has one pool for each URL. */
export function openPool(url: string): PostgresPool {
  const pool = pools.get(url) ?? connect(url)
  pools.set(url, pool)
  return pool
}

/** A few connections are enough: a command sends one query at a time, and refreshes a lease meanwhile. */
function connect(url: string): PostgresPool {
  const { Pool } = loadPostgres()
  const pool = new Pool({
    connectionString: url,
    max: 4,
    connectionTimeoutMillis: 10_000,
    keepAlive: true,
    allowExitOnIdle: true,
    application_name: 'stint',
  })
  // An idle connection that breaks must not end the process; the next query opens another one.
  pool.on('error', () => {})
  return pool
}

/**
 * Loads `pg` from beside stint or, if it is not installed there, from the current directory. Packages of the
 * current directory may come from anyone, so they come last.
 */
function loadPostgres(): PostgresModule {
  const [, program = ''] = process.argv
  for (const from of [
    () => realpathSync(program),
    () => program,
    () => join(process.cwd(), 'package.json'),
  ]) {
    try {
      const require = createRequire(from())
      return require(require.resolve('pg')) as PostgresModule
    } catch (error) {
      // Not installed there, or that directory is gone: try the next one.
      if (!['MODULE_NOT_FOUND', 'ENOENT'].includes(errorCode(error) ?? '')) throw error
    }
  }
  throw new StintError(
    'POSTGRES_CLIENT_MISSING',
    'the package pg, which stint uses to talk to PostgreSQL, is not installed',
  )
}
