// Builds the library with tsc (one module a file, so importers load only what they use) and the
// `stint` binary with esbuild (one CommonJS file: a third of the start-up time of loading modules).
import { execFileSync } from 'node:child_process'
import { chmodSync, rmSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'

const root = join(dirname(fileURLToPath(import.meta.url)), '..')
const tsc = createRequire(import.meta.url).resolve('typescript/package.json')

rmSync(join(root, 'dist'), { recursive: true, force: true })
execFileSync(process.execPath, [join(dirname(tsc), 'bin/tsc'), '-p', 'tsconfig.build.json'], {
  cwd: root,
  stdio: 'inherit',
})
await build({
  entryPoints: [join(root, 'src/cli/bin.ts')],
  outfile: join(root, 'dist/bin/stint.cjs'),
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
chmodSync(join(root, 'dist/bin/stint.cjs'), 0o755)
