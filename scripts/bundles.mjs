// How esbuild bundles the sources; build.mjs says in which order.
import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'

export const root = join(dirname(fileURLToPath(import.meta.url)), '..')

/**
 * The bundles that the first one loads, with the modules in each. A module is evaluated when it is first
 * used. Compiling code slows down a start, so what a run may need is not in one bundle with everything else.
 */
export const loaded = {
  'sweep-engine': { 'sweep-engine': 'src/sweep/sweep.ts' },
  claims: {
    'hold-lease': 'src/command/commands/hold-lease.ts',
    lock: 'src/lease/commands/lock.ts',
  },
  commands: {
    'watch-screen': 'src/cli/terminal/watch-screen.ts',
    'check-postgres': 'src/cli/health/postgres.ts',
    status: 'src/cli/status/status.ts',
    doctor: 'src/cli/health/doctor.ts',
    'session-repair': 'src/session/repair.ts',
    'examine-hooks': 'src/hooks/install/examine.ts',
    'list-sessions': 'src/session/files/list-sessions.ts',
    hook: 'src/hooks/commands/hook.ts',
    sweep: 'src/sweep/commands/sweep.ts',
    completion: 'src/cli/completion/completion.ts',
    demo: 'src/cli/demo/demo.ts',
    init: 'src/cli/init/init.ts',
    mcp: 'src/mcp/commands/mcp.ts',
    'mcp-server': 'src/mcp/serve.ts',
    temp: 'src/sweep/commands/temp.ts',
    ui: 'src/ui/commands/ui.ts',
    'watch-budget': 'src/command/commands/watch-budget.ts',
    points: 'src/points/index.ts',
    changes: 'src/points/commands/changes.ts',
    diff: 'src/points/commands/diff.ts',
    undo: 'src/points/commands/undo.ts',
    'record-run': 'src/command/commands/record-run.ts',
    secrets: 'src/secrets/index.ts',
    sessions: 'src/session/commands/sessions.ts',
    audit: 'src/session/commands/audit.ts',
    vault: 'src/vault/commands/vault.ts',
    postgres: 'src/postgres/commands/postgres.ts',
    'open-postgres': 'src/postgres/commands/open-postgres.ts',
  },
}

/** Turns an `import()` of a module in another bundle into a load of that bundle. */
export const loadBundles = (own) => ({
  name: 'load-bundles',
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /^\./ }, ({ kind, path, resolveDir, namespace }) => {
      if (namespace === 'bundle') return { path, external: true }
      const file = join(resolveDir, path)
      const place = kind === 'dynamic-import' ? placeOf(file) : undefined
      return place === undefined || place.bundle === own
        ? undefined
        : { path: place.bundle, suffix: `?${place.name}`, namespace: 'bundle' }
    })
    onLoad({ filter: /^/, namespace: 'bundle' }, ({ path, suffix }) => ({
      contents: `module.exports = require('./${path}.cjs')['${suffix.slice(1)}']`,
    }))
  },
})

/** The bundle that has a source file, and its name there. */
function placeOf(file) {
  for (const [bundle, modules] of Object.entries(loaded))
    for (const [name, source] of Object.entries(modules))
      if (join(root, source) === file) return { bundle, name }
  return undefined
}

/** Makes one of the bundles: a property for each of its modules. */
export const bundleLoaded = (name, outdir) =>
  bundle({
    outdir,
    stdin: {
      contents: Object.entries(loaded[name])
        .map(([module, source]) => `exports.__defineGetter__('${module}', () => require('./${source}'))`)
        .join('\n'),
      resolveDir: root,
    },
    entryNames: name,
    plugins: [loadBundles(name), mcpPackages],
    metafile: true,
  })

/** What the MCP server uses of packages. They are as large as all of stint's code. */
const mcpNames = {
  zod: 'z',
  '@modelcontextprotocol/server': 'McpServer',
  '@modelcontextprotocol/server/stdio': 'serveStdio, StdioServerTransport',
}

/** Loads the packages of the MCP server from a bundle of their own. */
const mcpPackages = {
  name: 'mcp-packages',
  setup({ onResolve }) {
    onResolve({ filter: /^(zod|@modelcontextprotocol\/.*)$/ }, ({ path }) => {
      if (!(path in mcpNames)) throw new Error(`the bundle of the MCP packages lacks ${path}`)
      return { path: './mcp-packages.cjs', external: true }
    })
  },
}

/** Messages of zod in 50 languages, of which the server sends one. */
const englishOnly = {
  name: 'english-only',
  setup({ onLoad }) {
    onLoad({ filter: /zod\/v4\/locales\/index\.js$/ }, () => ({
      contents: "export { default as en } from './en.js'",
    }))
  },
}

export const bundleMcpPackages = (outdir) =>
  bundle({
    outdir,
    stdin: {
      contents: Object.entries(mcpNames)
        .map(([path, names]) => `export { ${names} } from '${path}'`)
        .join('\n'),
      resolveDir: root,
    },
    entryNames: 'mcp-packages',
    plugins: [englishOnly],
    metafile: true,
  })

/**
 * Replaces node:os, which takes 1 ms to load, a quarter of the hook's own time; HOME nearly always suffices.
 */
export const lazyOs = {
  name: 'lazy-os',
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /^node:os$/ }, ({ path, namespace }) =>
      namespace === 'lazy-os' ? { path, external: true } : { path, namespace: 'lazy-os' },
    )
    onLoad({ filter: /^/, namespace: 'lazy-os' }, () => ({
      contents: `export const homedir = () => process.env.HOME || require('node:os').homedir()
        export const hostname = () => require('node:os').hostname()
        export const userInfo = () => require('node:os').userInfo()`,
    }))
  },
}

/** Makes the table of errors when the first error needs it: esbuild evaluates a required module that late. */
const lazyErrorTable = {
  name: 'lazy-error-table',
  setup({ onResolve, onLoad }) {
    const path = './src/base/errors/error-table.ts'
    onResolve({ filter: /\/error-table\.ts$/ }, ({ kind }) =>
      kind === 'import-statement' ? { path, namespace: 'lazy-error-table' } : { path: join(root, path) },
    )
    onLoad({ filter: /^/, namespace: 'lazy-error-table' }, () => ({
      contents: ['errorEntry', 'isErrorCode']
        .map((name) => `export const ${name} = (code) => require('${path}').${name}(code)`)
        .join('\n'),
    }))
  },
}

/** Bundles each entry point as one CommonJS file. */
export const bundle = ({ plugins = [], ...options }) =>
  build({
    plugins: [lazyErrorTable, ...plugins],
    absWorkingDir: root,
    outExtension: { '.js': '.cjs' },
    bundle: true,
    platform: 'node',
    target: 'node20',
    format: 'cjs',
    minify: true,
    // Prefer the ES modules of a package: unused exports of those are dropped.
    mainFields: ['module', 'main'],
    // In CommonJS, a real import() of a builtin would start the ES module loader, for 3 ms.
    supported: { 'dynamic-import': false },
    legalComments: 'none',
    logLevel: 'warning',
    ...options,
  })

/** Bundles the page of `stint ui`: one script and one stylesheet. */
export const bundlePage = (outdir) =>
  build({
    absWorkingDir: root,
    outdir,
    entryPoints: { page: 'src/ui/page/app.tsx', style: 'src/ui/page/style.css' },
    bundle: true,
    platform: 'browser',
    target: 'es2022',
    format: 'esm',
    jsx: 'automatic',
    jsxImportSource: 'preact',
    minify: true,
    metafile: true,
    legalComments: 'none',
    logLevel: 'warning',
  })

/** The licenses of the packages that these files belong to. */
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
