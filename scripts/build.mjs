// Builds the library with tsc (one module a file, so importers load only what they use) and the
// `stint` binary with esbuild (one CommonJS file: a third of the start-up time of loading modules).
import { execFileSync } from 'node:child_process'
import { chmodSync, existsSync, renameSync, rmSync } from 'node:fs'
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
await build({
  entryPoints: [join(root, 'src/cli/bin.ts')],
  outfile: join(next, 'bin/stint.cjs'),
  bundle: true,
  platform: 'node',
  target: 'node20',
  format: 'cjs',
  banner: { js: '#!/usr/bin/env node' },
  minify: true,
  // In a CommonJS file a real import() would start the ES module loader, 3 ms, to load a builtin.
  supported: { 'dynamic-import': false },
  legalComments: 'none',
  logLevel: 'warning',
})
chmodSync(join(next, 'bin/stint.cjs'), 0o755)
rmSync(last, { recursive: true, force: true })
if (existsSync(dist)) renameSync(dist, last)
renameSync(next, dist)
rmSync(last, { recursive: true, force: true })
