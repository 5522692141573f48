// What esbuild makes of the sources, and how. build.mjs says in which order.
import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'

export const root = join(dirname(fileURLToPath(import.meta.url)), '..')

/** Not needed by `stint run`, so files of their own: compiling a bundle is a good part of the time it takes to start. */
export const apart = {
  help: 'src/command/help.ts',
  status: 'src/cli/status/status.ts',
  doctor: 'src/cli/doctor/doctor.ts',
  'session-files': 'src/session/files/session-files.ts',
  'examine-hooks': 'src/hook-install/doctor/examine.ts',
  'list-sessions': 'src/session/files/list-sessions.ts',
  hook: 'src/cli/hook/hook.ts',
  sweep: 'src/cli/sweep/sweep.ts',
  'sweep-engine': 'src/sweep/sweep.ts',
  inventory: 'src/sweep/inventory/index.ts',
  'sweep-timer': 'src/sweep/timer/timer.ts',
  completion: 'src/cli/completion/completion.ts',
  demo: 'src/cli/demo/demo.ts',
  lock: 'src/cli/lock/lock.ts',
  temp: 'src/cli/temp/temp.ts',
  'watch-budget': 'src/cli/run/watch-budget.ts',
  'hold-lease': 'src/cli/run/hold-lease.ts',
  'record-run': 'src/cli/run/record-run.ts',
  sessions: 'src/cli/sessions/sessions.ts',
  audit: 'src/cli/audit/audit.ts',
  postgres: 'src/cli/postgres/postgres.ts',
  'open-postgres': 'src/cli/postgres/open-postgres.ts',
}

/** An import() of one of these loads its file. */
export const loadApart = {
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

/** Loading node:os takes 1 ms, a quarter of what the hook itself needs; nearly always HOME says what it would. */
export const lazyOs = {
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

/** One CommonJS file for each entry point. */
export const bundle = (options) =>
  build({
    absWorkingDir: root,
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

/** The licenses of the packages that these files come from. */
export function licensesOf(inputs) {
  const names = inputs.flatMap((path) => /node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(path)?.[1] ?? [])
  const texts = [...new Set(names)].sort().map((name) => {
    const directory = join(root, 'node_modules', name)
    const file = readdirSync(directory).find((entry) => /^licen[cs]e/i.test(entry))
    if (file === undefined) throw new Error(`${name} comes without its license`)
    return `${name}\n\n${readFileSync(join(directory, file), 'utf8').trim()}\n`
  })
  return texts.join('\n\n')
}
