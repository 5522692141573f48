import { realpathSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import type { PostgresPool } from '../../postgres/pool.ts'
import { errorCode, StintError } from '../../base/errors/stint-error.ts'

interface PoolConfig {
  connectionString: string
  max: number
  connectionTimeoutMillis: number
  keepAlive: boolean
  allowExitOnIdle: boolean
  application_name: string
}

/** What we use of the module `pg`. */
interface PostgresModule {
  Pool: new (config: PoolConfig) => PostgresPool & { on(event: 'error', listener: () => void): unknown }
}

const pools = new Map<string, PostgresPool>()

/** The connections of this process to a server, the same for everything that asks it. */
export function openPool(url: string): PostgresPool {
  const pool = pools.get(url) ?? connect(url)
  pools.set(url, pool)
  return pool
}

/** A few: a command asks one thing at a time, and refreshes a lease beside it. */
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
  // A connection that breaks while nobody uses it: the next query tells, if there is one.
  pool.on('error', () => {})
  return pool
}

/** Installed beside stint, or where the command was called: in that order, since what lies about there may be anybody's. */
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
      // Elsewhere, then; a program or a directory that is gone has nothing installed beside it.
      if (!['MODULE_NOT_FOUND', 'ENOENT'].includes(errorCode(error) ?? '')) throw error
    }
  }
  throw new StintError(
    'POSTGRES_CLIENT_MISSING',
    'the package pg, which stint uses to talk to PostgreSQL, is not installed',
  )
}
