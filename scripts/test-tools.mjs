// The tests drive real programs. Installs the missing ones where it can (Debian, as root); elsewhere it says
// what to install, before tests fail one by one.
import { execFileSync, spawnSync } from 'node:child_process'
import { existsSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const packageOf = {
  bash: 'bash',
  dash: 'dash',
  busybox: 'busybox',
  zsh: 'zsh',
  cc: 'gcc',
  git: 'git',
  tmux: 'tmux',
  less: 'less',
  python3: 'python3',
  unshare: 'util-linux',
  setsid: 'util-linux',
  ...(process.argv.includes('--agents') ? { strace: 'strace' } : {}),
  ...(process.argv.includes('--torture') ? { pgbouncer: 'pgbouncer' } : {}),
  ...(['--ui', '--torture'].some((each) => process.argv.includes(each)) ? { chromium: 'chromium' } : {}),
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

// These are large, and no dependencies of the project: only the examples of Jest, tests of frameworks, the
// scenes of `npm run agents`, and `npm run test:mcp` need them.
const project = join(dirname(fileURLToPath(import.meta.url)), '..')
const changedAt = (path) => statSync(path).mtimeMs
function install(folder, ...options) {
  const directory = join(project, folder)
  const installed = join(directory, 'node_modules/.package-lock.json')
  if (existsSync(installed) && changedAt(installed) >= changedAt(join(directory, 'package-lock.json'))) return
  console.log(`installing for the tests: the packages of ${folder}`)
  execFileSync('npm', ['ci', '--prefix', directory, '--no-audit', '--no-fund', ...options], {
    cwd: directory,
    stdio: ['ignore', 'ignore', 'inherit'],
  })
}
if (process.argv.includes('--agents')) install('test/agents')
else if (process.argv.includes('--mcp')) install('test/mcp/tools', '--ignore-scripts')
else {
  install('examples/jest', '--ignore-scripts')
  // Without the optional packages, which are the binaries of Claude Code.
  install('test/frameworks', '--ignore-scripts', '--omit=optional')
  // LangGraph's SQLite saver is a peer of the benches.
  if (process.argv.includes('--torture')) install('bench')
}
