// Prepares a run: installs the peers, copies a build of stint, compiles the floors written in C.
import { execFileSync, spawnSync } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, statSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'

const here = import.meta.dirname
const project = join(here, '..')

/** Runs `npm ci` in bench/ if the lockfile has changed since the last time. */
export function installPeers() {
  const installed = join(here, 'node_modules/.package-lock.json')
  if (isNewer(installed, join(here, 'package-lock.json'))) return
  process.stderr.write('installing the peers in bench/\n')
  npm(here, 'ci', '--no-audit', '--no-fund')
}

/** Installs a missing program where that is possible (Debian, as root); returns whether it is there. */
export function installTool(name, debianPackage) {
  const isThere = () => spawnSync(name, ['--version'], { stdio: 'ignore' }).status === 0
  if (isThere() || process.getuid?.() !== 0) return isThere()
  process.stderr.write(`installing ${debianPackage}\n`)
  const apt = (...args) => spawnSync('apt-get', ['-qq', ...args], { stdio: ['ignore', 2, 2] })
  apt('update')
  apt('install', '--yes', '--no-install-recommends', debianPackage)
  return isThere()
}

/**
 * Copies dist/, which it builds if it is missing: a run measures one build, even if another is made
 * meanwhile. Returns `library`, the URL to import, and `bin`, the file to run.
 */
export async function takeStint({ base }) {
  const dist = join(project, 'dist')
  const whole = () => existsSync(join(dist, 'bin/stint.cjs'))
  // A build replaces dist, which is missing for a moment.
  for (let tries = 0; tries < 15 && !whole(); tries++) await sleep(200)
  if (!whole()) npm(project, 'run', 'build')
  const copy = join(base, 'stint')
  // Each run makes its own code caches, which another program may be writing here.
  cpSync(dist, join(copy, 'dist'), { recursive: true, filter: (path) => !path.includes('.cache') })
  cpSync(join(project, 'package.json'), join(copy, 'package.json'))
  // The adapters import the frameworks that the peers use.
  symlinkSync(join(here, 'node_modules'), join(copy, 'node_modules'))
  return {
    library: pathToFileURL(join(copy, 'dist/lib/index.js')).href,
    bin: join(copy, 'dist/bin/stint.cjs'),
  }
}

/** Compiles c/<name>.c if it has changed; returns the path of the program. */
export const program = (name) => compile(name, name)

/** Compiles c/<name>.c as a library to be preloaded, if it has changed; returns its path. */
export const sharedLibrary = (name) => compile(name, `${name}.so`, '-shared', '-fPIC')

function compile(name, output, ...flags) {
  const source = join(here, 'c', `${name}.c`)
  const binary = join(here, 'bin', output)
  if (!isNewer(binary, source)) {
    mkdirSync(join(here, 'bin'), { recursive: true })
    const args = ['-O2', '-Wall', '-Wextra', ...flags, '-o', binary, source]
    execFileSync('cc', args, { stdio: ['ignore', 2, 2] })
  }
  return binary
}

const isNewer = (path, than) => existsSync(path) && statSync(path).mtimeMs >= statSync(than).mtimeMs

/** Sends the output of npm to stderr: stdout may be JSON. */
function npm(cwd, ...args) {
  execFileSync('npm', args, { cwd, stdio: ['ignore', 2, 2] })
}
