// The tests drive real programs. What is missing is installed where that is possible (Debian, as root);
// elsewhere this says what to install, instead of letting tests fail one by one.
import { execFileSync, spawnSync } from 'node:child_process'

const packageOf = {
  cc: 'gcc',
  tmux: 'tmux',
  less: 'less',
  python3: 'python3',
  unshare: 'util-linux',
  setsid: 'util-linux',
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
