// The tests drive real programs. Installs the missing ones where it can (Debian, as root); elsewhere it says
// what to install, before tests fail one by one.
import { execFileSync, spawnSync } from 'node:child_process'
import { existsSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const packageOf = {
  bash: 'bash',
  cc: 'gcc',
  git: 'git',
  tmux: 'tmux',
  less: 'less',
  python3: 'python3',
  unshare: 'util-linux',
  setsid: 'util-linux',
  ...(process.argv.includes('--torture') ? { pgbouncer: 'pgbouncer' } : {}),
}

const isMissing = (tool) => spawnSync('sh', ['-c', `command -v ${tool}`]).status !== 0
const packages = () => [
  ...new Set(
    Object.keys(packageOf)
      .filter(isMissing)
      .map((tool) => packageOf[tool]),
  ),
]

if (packages().length > 0 && process.getuid?.() === 0 && !isMissing('apt-get')) {
  const apt = (...args) =>
    execFileSync('apt-get', ['-qq', ...args], {
      stdio: ['ignore', 'ignore', 'inherit'],
      env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' },
    })
  console.log(`installing for the tests: ${packages().join(', ')}`)
  apt('update')
  apt('install', '--yes', '--no-install-recommends', ...packages())
}
if (packages().length > 0) {
  console.error(`The tests need programs of these packages: ${packages().join(', ')}. Please install them.`)
  process.exit(1)
}

// Jest is large, and only its example needs it: it is not a dependency of the project.
const jest = join(dirname(fileURLToPath(import.meta.url)), '../examples/jest')
const installed = join(jest, 'node_modules/.package-lock.json')
const changedAt = (path) => statSync(path).mtimeMs
if (!existsSync(installed) || changedAt(installed) < changedAt(join(jest, 'package-lock.json'))) {
  console.log('installing for the tests: Jest, in examples/jest')
  execFileSync('npm', ['ci', '--prefix', jest, '--ignore-scripts', '--no-audit', '--no-fund'], {
    cwd: jest,
    stdio: ['ignore', 'ignore', 'inherit'],
  })
}
