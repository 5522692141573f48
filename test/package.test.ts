import {
  chmodSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { homedir } from 'node:os'
import { dirname, join, posix } from 'node:path'
import { publint } from 'publint'
import { formatMessage } from 'publint/utils'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { version } from '../src/cli/version.ts'
import { type Finished, projectRoot, World } from './support/world.ts'

/** What a user finds under each subpath: names of values, or undefined for a JSON file. Some work in their test runner only. */
const promised: Record<string, string[] | 'in its runner' | undefined> = {
  '.': [
    'StintError',
    'acquireLease',
    'acquireLeaseSync',
    'createScratch',
    'errorTable',
    'findWorkspace',
    'formatDuration',
    'identify',
    'isRequestId',
    'isSessionId',
    'liveness',
    'memoryRegister',
    'newRequestId',
    'newSessionId',
    'parseDuration',
    'sweep',
    'systemClock',
    'ulid',
  ],
  './command': ['defineBareCommand', 'defineCommand', 'runMain'],
  './jest': ['scratch'],
  './jest/environment': 'in its runner',
  './jest/global-setup': ['default'],
  './jest/global-teardown': ['default'],
  './lock': [
    'LOCK_DEFAULT_TTL_MS',
    'LOCK_SCHEMA_VERSION',
    'acquire',
    'computeWorkspaceHash',
    'decide',
    'refresh',
    'release',
  ],
  './node-test': ['scratch'],
  './node-test/register': 'in its runner',
  './postgres': ['migrate', 'migrationScript', 'postgresRegister', 'postgresStore', 'purge'],
  './opencode': ['stintPlugin'],
  './testing': ['registerConformance', 'storeConformance'],
  './vitest': 'in its runner',
  './vitest/global-setup': ['default'],
  './vitest/setup': 'in its runner',
  './schema/envelope.json': undefined,
  './package.json': undefined,
}

type Target = string | { [condition: string]: Target }

interface Manifest {
  name: string
  version: string
  files: string[]
  bin: Record<string, string>
  exports: Record<string, Target>
  dependencies?: Record<string, string>
}

interface Packed {
  filename: string
  files: { path: string; mode: number }[]
}

const manifest = JSON.parse(readFileSync(join(projectRoot, 'package.json'), 'utf8')) as Manifest
const specifier = (subpath: string): string => posix.join(manifest.name, subpath)
const tool = (path: string): string => join(projectRoot, 'node_modules', path)

// Started by `npm test`, we have npm's own settings in our environment: the npm we start must not see them.
const npmSettings = Object.keys(process.env).filter((name) => /^(npm_|INIT_CWD$)/i.test(name))
const world = new World(Object.fromEntries(npmSettings.map((name) => [name, undefined])))
const home = join(world.tmp, 'home')
const consumer = join(world.tmp, 'consumer')
const npmEnv = {
  HOME: home,
  npm_config_cache: join(home, 'npm-cache'),
  npm_config_offline: 'true',
  npm_config_ignore_scripts: 'true',
  npm_config_update_notifier: 'false',
  npm_config_audit: 'false',
  npm_config_fund: 'false',
}
let tarball = ''
let packed: Packed
let dependencies: string[] = []

const inConsumer = (command: string, args: string[]): Promise<Finished> =>
  world.start(command, args, { cwd: consumer, env: npmEnv }).finished

function succeeded(finished: Finished): Finished {
  if (finished.code === 0) return finished
  throw new Error(`exit ${finished.code}: ${finished.stderr}${finished.stdout}`)
}

const installed = (path: string): string => join(consumer, 'node_modules', manifest.name, path)

beforeAll(async () => {
  mkdirSync(home)
  mkdirSync(consumer)
  writeFileSync(join(consumer, 'package.json'), '{"name": "consumer", "private": true, "type": "module"}')
  const pack = ['pack', '--json', '--pack-destination', world.tmp]
  const { stdout } = succeeded(await world.start('npm', pack, { cwd: projectRoot, env: npmEnv }).finished)
  ;[packed] = JSON.parse(stdout) as [Packed]
  tarball = join(world.tmp, packed.filename)
  succeeded(await inConsumer('npm', ['install', tarball]))
  dependencies = readdirSync(join(consumer, 'node_modules')).filter((name) => !name.startsWith('.'))
  // Who tests with Vitest has it.
  symlinkSync(tool('vitest'), join(consumer, 'node_modules/vitest'))
})

afterAll(() => world[Symbol.asyncDispose]())

test('the version the binary prints is the version of the package', () => {
  expect(version).toBe(manifest.version)
})

test('it has no runtime dependency, so that installing it needs nothing else', () => {
  expect(manifest.dependencies ?? {}).toEqual({})
  expect(dependencies).toEqual([manifest.name])
})

test('the tarball holds what `files` lists, nothing else, and no test', () => {
  const always = new Set(['package.json', 'README.md', 'LICENSE'])
  const listed = (path: string): boolean =>
    always.has(path) || manifest.files.some((entry) => path === entry || path.startsWith(`${entry}/`))
  const paths = packed.files.map(({ path }) => path)
  expect(paths.filter((path) => !listed(path))).toEqual([])
  expect(paths.filter((path) => /\.test\.|\.tsbuildinfo$|(^|\/)(test|fixtures|src)\//.test(path))).toEqual([])
})

test('everything `files` lists is in the tarball, and so are the readme and the license', () => {
  const paths = packed.files.map(({ path }) => path)
  const isThere = (entry: string): boolean =>
    paths.some((path) => path === entry || path.startsWith(`${entry}/`))
  const listed = manifest.files.filter((entry) => !entry.startsWith('!'))
  expect([...listed, 'README.md', 'LICENSE'].filter((entry) => !isThere(entry))).toEqual([])
})

test('the compiled code of this machine stays here', () => {
  expect(packed.files.filter(({ path }) => path.includes('.cache'))).toEqual([])
})

test('no file in the tarball names this machine, or a source map that is not there', () => {
  const paths = packed.files.map(({ path }) => path)
  const suspicious = paths.filter((path) => {
    const text = readFileSync(installed(path), 'utf8')
    const map = /[#@] sourceMappingURL=(\S+)/.exec(text)?.[1]
    const lostMap = map !== undefined && !paths.includes(posix.join(posix.dirname(path), map))
    return lostMap || [projectRoot, homedir()].some((here) => here !== '/' && text.includes(`${here}/`))
  })
  expect(suspicious).toEqual([])
})

test('every relative import in dist leads to a file in the tarball', () => {
  const paths = new Set(packed.files.map(({ path }) => path))
  const broken = [...paths]
    .filter((path) => /^dist\/.*\.(js|d\.c?ts)$/.test(path))
    .flatMap((path) => {
      const text = readFileSync(installed(path), 'utf8')
      const imports = [...text.matchAll(/(?:from|import)\s*\(?\s*['"](\.[^'"]+)['"]/g)].map(
        ([, target = '']) => target,
      )
      const targets = imports.map((target) => posix.join(posix.dirname(path), target))
      // A declaration file names the source it came from; the compiler looks for its declarations.
      const files = /\.d\.c?ts$/.test(path)
        ? targets.map((target) => target.replace(/\.[jt]s$/, '.d.ts'))
        : targets
      return files.filter((target) => !paths.has(target)).map((target) => `${path} imports ${target}`)
    })
  expect(broken).toEqual([])
})

test('exports, bin and dist agree', () => {
  const paths = new Set(packed.files.map(({ path }) => `./${path}`))
  const filesOf = (target: Target): string[] =>
    typeof target === 'string' ? [target] : Object.values(target).flatMap(filesOf)
  const targets = Object.values(manifest.exports).flatMap(filesOf)
  const bins = Object.values(manifest.bin).map((path) => `./${path}`)
  expect([...targets, ...bins].filter((target) => !paths.has(target))).toEqual([])
  for (const bin of bins) {
    expect(statSync(join(projectRoot, bin)).mode & 0o111).toBe(0o111)
    expect(readFileSync(installed(bin), 'utf8')).toMatch(/^#!\/usr\/bin\/env node\n/)
  }
})

test('every subpath can be imported, prints nothing and has the names it promises', async () => {
  expect(Object.keys(manifest.exports).sort()).toEqual(Object.keys(promised).sort())
  const plain = Object.entries(promised).flatMap(([subpath, names]) =>
    names === 'in its runner' ? [] : [[subpath, names] as const],
  )
  const modules = plain.map(([subpath, names]) => {
    const options = names === undefined ? `, { with: { type: 'json' } }` : ''
    return `${JSON.stringify(subpath)}: Object.keys(await import('${specifier(subpath)}'${options}))`
  })
  const source = `process.stdout.write(JSON.stringify({ ${modules.join(', ')} }))`
  writeFileSync(join(consumer, 'imports.js'), source)
  const { stdout, stderr } = await inConsumer(process.execPath, ['--no-warnings', 'imports.js'])
  expect(stderr).toBe('')
  const found = JSON.parse(stdout) as Record<string, string[]>
  for (const [subpath, names = ['default']] of plain) {
    expect(found[subpath]).toEqual(expect.arrayContaining(names))
  }
})

test('what test files in CommonJS need can be required', async () => {
  const source = `console.log(require.resolve('stint/jest'), Object.keys(require('stint/jest')))`
  writeFileSync(join(consumer, 'require.cjs'), source)
  const { stdout, stderr } = await inConsumer(process.execPath, ['require.cjs'])
  expect(stdout).toBe(`${installed('dist/test-runners/jest/index.cjs')} [ 'scratch' ]\n`)
  expect(stderr).toBe('')
})

test('what is not exported cannot be imported', async () => {
  writeFileSync(join(consumer, 'inside.js'), `await import('${manifest.name}/dist/scratch/root.js')`)
  const { code, stderr } = await inConsumer(process.execPath, ['inside.js'])
  expect(code).toBe(1)
  expect(stderr).toContain('ERR_PACKAGE_PATH_NOT_EXPORTED')
})

const everySubpath = Object.entries(promised).map(([subpath, names], index) =>
  names === undefined
    ? `export { default as module${index} } from '${specifier(subpath)}' with { type: 'json' }`
    : `export * as module${index} from '${specifier(subpath)}'`,
)

/** Uses what is there as a user would; the expected errors would be none if a type had silently become `any`. */
const consumerSource = `
import { acquireLease, createScratch, type ErrorCode, type Lease, type Liveness, newRequestId, StintError, sweep, type SweepReport } from 'stint'
import { type Context, defineCommand, type Envelope, runMain } from 'stint/command'
import { type PostgresPool, postgresRegister } from 'stint/postgres'
import schema from 'stint/schema/envelope.json' with { type: 'json' }
import manifest from 'stint/package.json' with { type: 'json' }
import { scratch as ofNodeTest } from 'stint/node-test'
import { test, withScratch } from 'stint/vitest'
import nodeTest from 'node:test'

nodeTest('a test of node:test fits', (t) => void ofNodeTest(t, { keep: 'on-failure' }).file())
const own = withScratch(test.extend<{ port: number }>({ port: 80 }), { keep: 'always' })
own('has its own fixtures and ours', ({ scratch, port }) => {
  const path: string = scratch.file(String(port.toFixed()))
  // @ts-expect-error there is no such method
  scratch.fiel(path)
})
// @ts-expect-error there is no such policy
withScratch(test, { keep: 'sometimes' })

export const title: string = schema.title + manifest.version
export const code: ErrorCode = new StintError('NOT_FOUND', 'no such thing').code
export const state: Liveness = 'alive'
export const report: Promise<SweepReport> = sweep({ dryRun: true })
export const ok = (envelope: Envelope): boolean => envelope.ok
export async function inScratch(): Promise<string> {
  await using scratch = createScratch({ keep: 'on-failure' })
  return scratch.file('input.json', '{}')
}
export const deploy = (pool: PostgresPool): Promise<Lease> =>
  acquireLease({ register: postgresRegister({ pool }), resource: 'deploy:prod', sessionId: 'a' })
// @ts-expect-error a pool can be connected to
export const noPool = postgresRegister({ pool: { query: async () => ({ rows: [] }) } })
// @ts-expect-error a request id is a string
export const id: number = newRequestId()
// @ts-expect-error there is no such code
export const unknown = new StintError('NO_SUCH_CODE', '')

const build = defineCommand({
  name: 'build',
  positionals: 'FILE',
  options: {
    mode: { type: 'string', choices: ['fast', 'small'], help: 'how' },
    wait: { type: 'duration', help: 'how long' },
    force: { type: 'boolean', help: 'even so' },
  },
  async run(ctx: Context, { options, positionals }) {
    const mode: 'fast' | 'small' | undefined = options.mode
    const wait: number | undefined = options.wait
    const force: boolean = options.force
    const child = await ctx.spawn('true', positionals, { stdio: 'ignore' })
    const { code } = await child.exited
    // @ts-expect-error there is no such option
    const missing = options.missing
    return { mode, wait, force, code, missing: String(missing), output: ctx.scratch.output('out') }
  },
  render: (data) => data.output.toUpperCase(),
})
const parsed = defineCommand({ name: 'parsed', parse: (argv) => ({ count: argv.length }), run: (_, { count }) => ({ count }) })
export const main = (): Promise<never> => runMain(Math.random() > 0.5 ? build : parsed, { argv: ['--help'] })
`

test.each([
  ['nodenext', 'nodenext'],
  ['esnext', 'bundler'],
])('types resolve and check with module %s and moduleResolution %s', async (module, moduleResolution) => {
  const project = join(consumer, moduleResolution)
  mkdirSync(project)
  writeFileSync(join(project, 'main.ts'), consumerSource)
  writeFileSync(join(project, 'every-subpath.ts'), everySubpath.join('\n'))
  const compilerOptions = {
    module,
    moduleResolution,
    target: 'es2022',
    lib: ['es2023', 'esnext.disposable'],
    strict: true,
    exactOptionalPropertyTypes: true,
    resolveJsonModule: true,
    skipLibCheck: false,
    noEmit: true,
    types: ['node'],
    typeRoots: [tool('@types')],
  }
  writeFileSync(join(project, 'tsconfig.json'), JSON.stringify({ compilerOptions, include: ['*.ts'] }))
  const { code, stdout } = await inConsumer(process.execPath, [tool('typescript/bin/tsc'), '-p', project])
  expect(stdout).toBe('')
  expect(code).toBe(0)
})

test('publint has nothing to say about the tarball', async () => {
  const bytes = readFileSync(tarball)
  const archive = bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength)
  const { messages, pkg } = await publint({ pack: { tarball: archive }, strict: true })
  expect(messages.map((message) => formatMessage(message, pkg, { color: false }))).toEqual([])
})

test('arethetypeswrong finds the types of every subpath right', async () => {
  const attw = tool('@arethetypeswrong/cli/dist/index.js')
  const args = [attw, tarball, '--profile', 'esm-only', '--format', 'json']
  const { stdout } = succeeded(await inConsumer(process.execPath, args))
  const { analysis } = JSON.parse(stdout) as { analysis: { entrypoints: Record<string, unknown> } }
  expect(Object.keys(analysis.entrypoints).sort()).toEqual(Object.keys(promised).sort())
})

test('the installed binary runs, by npx and by its link in .bin', async () => {
  expect(await inConsumer('npx', ['--no-install', 'stint', '--version'])).toMatchObject({
    code: 0,
    stdout: `${version}\n`,
    stderr: '',
  })
  const linked = join(consumer, 'node_modules/.bin/stint')
  expect(await inConsumer(linked, ['run', '--', 'echo', 'hi'])).toMatchObject({
    code: 0,
    stdout: 'hi\n',
    stderr: '',
  })
  const result = await inConsumer(linked, ['run', '--json', '--', 'sh', '-c', 'test -d "$TMPDIR"'])
  expect(result.envelope()).toMatchObject({ ok: true, data: { exit_code: 0 } })
  expect(world.leftovers()).toEqual([])
})

test('a tool that only has the installed package runs with it', async () => {
  const source = `#!/usr/bin/env node
    import { defineCommand, runMain } from 'stint/command'
    await runMain(defineCommand({ name: 'tool', run: (ctx) => ({ dir: ctx.tmpDir }) }))`
  const path = join(consumer, 'tool.js')
  writeFileSync(path, source)
  chmodSync(path, 0o755)
  const { data, meta } = succeeded(await inConsumer(path, [])).envelope()
  expect(data).toEqual({ dir: meta.session_tmp_dir })
  expect(dirname(meta.session_tmp_dir ?? '')).toBe(world.root)
})

test('npx finds the binary inside the project itself', async () => {
  const args = ['--no-install', 'stint', '--version']
  const { code, stdout } = await world.start('npx', args, { cwd: projectRoot, env: npmEnv }).finished
  expect({ code, stdout }).toEqual({ code: 0, stdout: `${version}\n` })
})
