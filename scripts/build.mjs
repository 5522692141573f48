// Compiles the modules with tsc, for the tests, and bundles what is published: the library (lib/), the
// programs (bin/), the plugin for Claude Code and the page of `stint ui`.
import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { chmodSync, copyFileSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import {
  bundle,
  bundleLoaded,
  bundleMcpPackages,
  bundlePage,
  lazyOs,
  licensesOf,
  loadBundles,
  loaded,
  root,
} from './bundles.mjs'
import { bundleLibrary, typedEntries } from './library.mjs'
import { removeAbandoned, swapIn } from './swap-in.mjs'
import { bundleTypes } from './types.mjs'

// Built beside dist and swapped in as a whole. The pid in the name keeps concurrent builds apart.
const next = join(root, `dist.next-${process.pid}`)
const bin = join(next, 'bin')

// A failed build removes its files; those of a killed build are removed by the next one.
process.on('exit', () => rmSync(next, { recursive: true, force: true }))
removeAbandoned(root)
compileModules()
await inlinePackages()
await bundleCli()
await bundleHook()
await makeClaudePlugin()
await buildLibrary()
await buildPage()
swapIn(next, join(root, 'dist'))

function compileModules() {
  const tsc = join(dirname(createRequire(import.meta.url).resolve('typescript/package.json')), 'bin/tsc')
  execFileSync(process.execPath, [tsc, '-p', 'tsconfig.build.json', '--outDir', next], {
    cwd: root,
    stdio: 'inherit',
  })
}

/**
 * Replaces library modules that use a package by bundles with the package in them: stint has no dependencies.
 */
async function inlinePackages() {
  await bundle({
    outdir: join(next, 'base/text'),
    entryPoints: ['src/base/text/wrap.ts'],
    outExtension: { '.js': '.js' },
    format: 'esm',
    minify: false,
  })
}

async function bundleCli() {
  const bundles = await Promise.all([
    bundle({
      outdir: bin,
      entryPoints: { main: 'src/cli/bin.ts' },
      plugins: [loadBundles('main')],
      metafile: true,
    }),
    ...Object.keys(loaded).map((name) => bundleLoaded(name, bin)),
    bundleMcpPackages(bin),
  ])
  const inputs = bundles.flatMap(({ metafile }) => Object.keys(metafile.inputs))
  writeFileSync(join(bin, 'LICENSES.txt'), licensesOf(inputs))
  await bundleLauncher('stint', 'src/cli/launch.ts', ['main', ...Object.keys(loaded), 'mcp-packages'])
}

/**
 * Bundles a launcher, which knows each file it may load by its hash, and caches compiled code under that
 * hash.
 */
async function bundleLauncher(name, source, loads) {
  const fingerprintOf = (file) =>
    createHash('sha256')
      .update(readFileSync(join(bin, file)))
      .digest('hex')
      .slice(0, 16)
  const builds = Object.fromEntries(loads.map((each) => [each, fingerprintOf(`${each}.cjs`)]))
  await bundle({
    outdir: bin,
    entryPoints: { [name]: source },
    define: { BUILDS: JSON.stringify(builds) },
    banner: { js: '#!/usr/bin/env node' },
  })
  chmodSync(join(bin, `${name}.cjs`), 0o755)
}

async function bundleHook() {
  // As small as possible. ASCII, so that Node reads it without decoding. In a function already: to put the
  // text into one, the launcher would copy it at every tool call.
  const loadedByLauncher = {
    outdir: bin,
    charset: 'ascii',
    banner: { js: '(function (require, module, __dirname) {' },
    footer: { js: '})' },
  }
  await bundle({
    ...loadedByLauncher,
    entryPoints: { 'hook-main': 'src/hooks/main.ts' },
    external: ['./hook-record.cjs', './hook-points.cjs', './hook-vault.cjs'],
    plugins: [lazyOs],
  })
  await bundle({
    ...loadedByLauncher,
    entryPoints: { 'hook-record': 'src/hooks/record-call.ts' },
    plugins: [loadBundles('hook-record')],
  })
  await bundle({
    ...loadedByLauncher,
    entryPoints: { 'hook-points': 'src/points/hook-points.ts', 'hook-vault': 'src/vault/detached-copy.ts' },
  })
  // Loads the code for restore points as the launcher does.
  const sweep = `const points = { exports: {} }
new (require('node:vm').Script)(require('node:fs').readFileSync(__dirname + '/hook-points.cjs', 'utf8'))
  .runInThisContext()(require, points, __dirname)
points.exports.sweepInBackground()\n`
  writeFileSync(join(bin, 'points-sweep.cjs'), sweep)
  // A file of its own: it is started at the end of every turn.
  await bundle({ outdir: bin, entryPoints: { 'vault-copy': 'src/vault/detached-copy-bin.ts' } })
  await bundleLauncher('stint-hook', 'src/hooks/launch.ts', [
    'hook-main',
    'hook-record',
    'hook-points',
    'hook-vault',
  ])
  // Without its comments: a shell reads them at every start.
  const script = readFileSync(join(root, 'src/hooks/stint-hook.sh'), 'utf8')
  writeFileSync(join(bin, 'stint-hook.sh'), script.replace(/^ *#(?!!).*\n/gm, ''), { mode: 0o755 })
  // The file that `stint hook install opencode` names in OpenCode's settings.
  writeFileSync(join(bin, 'opencode-plugin.mjs'), "export { stintPlugin } from '../lib/opencode.js'\n")
}

/** Makes the plugin for Claude Code, which copies it elsewhere: so it contains the hook. */
async function makeClaudePlugin() {
  const { claudePlugin } = await import(join(next, 'hooks/install/claude-plugin.js'))
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  const plugin = join(next, 'claude-plugin')
  for (const [path, text] of Object.entries(claudePlugin(version))) {
    mkdirSync(dirname(join(plugin, path)), { recursive: true })
    writeFileSync(join(plugin, path), text)
  }
  mkdirSync(join(plugin, 'hook'))
  // A copy keeps the mode: the script must be executable.
  for (const file of [
    'stint-hook.sh',
    'stint-hook.cjs',
    'hook-main.cjs',
    'hook-points.cjs',
    'hook-vault.cjs',
    'vault-copy.cjs',
    'points-sweep.cjs',
  ])
    copyFileSync(join(bin, file), join(plugin, 'hook', file))
}

/** Bundles the library, as ES modules and as what CommonJS test files and `node --require` load. */
async function buildLibrary() {
  const lib = join(next, 'lib')
  await bundleLibrary(next, lib)
  bundleTypes(next, lib, typedEntries)
  const runners = ['jest/index', 'node-test/register']
  await bundle({
    outdir: lib,
    entryPoints: Object.fromEntries(runners.map((name) => [name, `src/fixtures/${name}.ts`])),
  })
  for (const name of runners) {
    const types = readFileSync(join(lib, `${name}.d.ts`), 'utf8')
    const importing = types.replaceAll(/^(import type .*);$/gm, `$1 with { 'resolution-mode': 'import' };`)
    writeFileSync(join(lib, `${name}.d.cts`), importing)
  }
}

/** Builds the page of `stint ui`. It carries the licenses of its packages, as a copy of it may be served. */
async function buildPage() {
  const page = join(next, 'ui/page')
  const { metafile } = await bundlePage(page)
  writeFileSync(join(page, 'LICENSES.txt'), licensesOf(Object.keys(metafile.inputs)))
  for (const file of ['index.html', 'icon.svg'])
    copyFileSync(join(root, 'src/ui/page', file), join(page, file))
}
