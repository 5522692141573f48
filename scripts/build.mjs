// Builds the library with tsc (one module a file, so importers load only what they use) and the
// `stint` binary with esbuild (one CommonJS file: a third of the start-up time of loading modules).
import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'

const root = join(dirname(fileURLToPath(import.meta.url)), '..')
const tsc = join(dirname(createRequire(import.meta.url).resolve('typescript/package.json')), 'bin/tsc')
const [dist, next, last] = ['dist', 'dist.next', 'dist.last'].map((name) => join(root, name))

// Built beside it and swapped in, so that whoever runs the old build never meets half of a new one.
rmSync(next, { recursive: true, force: true })
execFileSync(process.execPath, [tsc, '-p', 'tsconfig.build.json', '--outDir', next], {
  cwd: root,
  stdio: 'inherit',
})
// What `stint run` does not need lies in files of its own: compiling a bundle is a good part of the time it takes to start.
const apart = {
  status: 'src/cli/status/status.ts',
  doctor: 'src/cli/doctor/doctor.ts',
  'inspect-hooks': 'src/cli/health/inspect-hooks.ts',
  'list-sessions': 'src/store/filesystem/list-sessions.ts',
  hook: 'src/cli/hook/hook.ts',
  sweep: 'src/cli/sweep.ts',
  completion: 'src/cli/completion/completion.ts',
  demo: 'src/cli/demo/demo.ts',
  lock: 'src/cli/lock/lock.ts',
  temp: 'src/cli/temp/temp.ts',
  'watch-budget': 'src/cli/watch-budget.ts',
  'hold-lease': 'src/cli/hold-lease.ts',
  'record-run': 'src/cli/record-run.ts',
  sessions: 'src/cli/sessions/sessions.ts',
  audit: 'src/cli/audit/audit.ts',
  postgres: 'src/cli/postgres/postgres.ts',
  'open-postgres': 'src/cli/postgres/open-postgres.ts',
}
const loadApart = {
  name: 'load-apart',
  setup({ onResolve }) {
    onResolve({ filter: /^\./ }, ({ kind, path, resolveDir }) => {
      const file = join(resolveDir, path)
      const found = Object.entries(apart).find(([, source]) => join(root, source) === file)
      return kind === 'dynamic-import' && found !== undefined
        ? { path: `./${found[0]}.cjs`, external: true }
        : undefined
    })
  },
}
/** What is bundled from other packages keeps its license. */
function licensesOf(inputs) {
  const names = inputs.flatMap((path) => /node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(path)?.[1] ?? [])
  const texts = [...new Set(names)].sort().map((name) => {
    const directory = join(root, 'node_modules', name)
    const file = readdirSync(directory).find((entry) => /^licen[cs]e/i.test(entry))
    if (file === undefined) throw new Error(`${name} comes without its license`)
    return `${name}\n\n${readFileSync(join(directory, file), 'utf8').trim()}\n`
  })
  return texts.join('\n\n')
}
const bundle = (options) =>
  build({
    absWorkingDir: root,
    outdir: join(next, 'bin'),
    outExtension: { '.js': '.cjs' },
    bundle: true,
    platform: 'node',
    target: 'node20',
    format: 'cjs',
    minify: true,
    // Of a package that has both, the ES modules: of those only what is used comes along.
    mainFields: ['module', 'main'],
    // In a CommonJS file a real import() would start the ES module loader, 3 ms, to load a builtin.
    supported: { 'dynamic-import': false },
    legalComments: 'none',
    logLevel: 'warning',
    ...options,
  })
const { metafile } = await bundle({
  entryPoints: { main: 'src/cli/bin.ts', ...apart },
  plugins: [loadApart],
  metafile: true,
})
writeFileSync(join(next, 'bin/LICENSES.txt'), licensesOf(Object.keys(metafile.inputs)))
const fingerprintOf = (file) =>
  createHash('sha256')
    .update(readFileSync(join(next, file)))
    .digest('hex')
    .slice(0, 16)
await bundle({
  entryPoints: { stint: 'src/cli/launch.ts' },
  define: {
    BUILDS: JSON.stringify(
      Object.fromEntries(
        ['main', ...Object.keys(apart)].map((name) => [name, fingerprintOf(`bin/${name}.cjs`)]),
      ),
    ),
  },
  banner: { js: '#!/usr/bin/env node' },
})
chmodSync(join(next, 'bin/stint.cjs'), 0o755)
/** Loading node:os takes 1 ms, a quarter of what the hook itself needs; nearly always HOME says what it would. */
const lazyOs = {
  name: 'lazy-os',
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /^node:os$/ }, ({ path, namespace }) =>
      namespace === 'lazy-os' ? { path, external: true } : { path, namespace: 'lazy-os' },
    )
    onLoad({ filter: /^/, namespace: 'lazy-os' }, () => ({
      contents: `export const homedir = () => process.env.HOME || require('node:os').homedir()
        export const hostname = () => require('node:os').hostname()`,
    }))
  },
}
// The hook: the same way, with as little in it as it can have. ASCII, so that it can be read without decoding.
await bundle({
  entryPoints: { 'hook-main': 'src/hook/bin.ts' },
  charset: 'ascii',
  external: ['./hook-record.cjs'],
  plugins: [lazyOs],
})
await bundle({
  entryPoints: {
    'hook-record': 'src/hook/record/record-in-hook.ts',
    'hook-recorder': 'src/hook/record/recorder-bin.ts',
  },
})
await bundle({
  entryPoints: { 'stint-hook': 'src/hook/launch.ts' },
  define: {
    BUILDS: JSON.stringify(
      Object.fromEntries(
        ['hook-main', 'hook-record'].map((name) => [name, fingerprintOf(`bin/${name}.cjs`)]),
      ),
    ),
  },
  banner: { js: '#!/usr/bin/env node' },
})
chmodSync(join(next, 'bin/stint-hook.cjs'), 0o755)
await bundle({
  entryPoints: { 'opencode-plugin': 'src/hook/opencode.ts' },
  format: 'esm',
  outExtension: { '.js': '.mjs' },
})
// A plugin is copied to where nothing else of ours is: it has the hook with it.
const { claudePlugin } = await import(join(next, 'hook-install/claude-plugin.js'))
const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
const plugin = join(next, 'claude-plugin')
for (const [path, text] of Object.entries(claudePlugin(version))) {
  mkdirSync(dirname(join(plugin, path)), { recursive: true })
  writeFileSync(join(plugin, path), text)
}
mkdirSync(join(plugin, 'hook'))
for (const file of ['stint-hook.cjs', 'hook-main.cjs'])
  copyFileSync(join(next, 'bin', file), join(plugin, 'hook', file))
// What test files in CommonJS require, and what `node --require` loads, must be CommonJS, too.
const runners = join(next, 'test-runners')
await bundle({
  outdir: runners,
  entryPoints: {
    'jest/index': 'src/test-runners/jest/index.ts',
    'node-test/register': 'src/test-runners/node-test/register.ts',
  },
  minify: false,
})
for (const name of ['jest/index', 'node-test/register']) {
  const types = readFileSync(join(runners, `${name}.d.ts`), 'utf8')
  const importing = types.replaceAll(/^(import type .*);$/gm, `$1 with { 'resolution-mode': 'import' };`)
  writeFileSync(join(runners, `${name}.d.cts`), importing)
}
rmSync(last, { recursive: true, force: true })
if (existsSync(dist)) renameSync(dist, last)
renameSync(next, dist)
rmSync(last, { recursive: true, force: true })
