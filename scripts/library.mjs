// Bundles the public entries of the library: few files load faster than many. build.mjs says when.
import { join, relative } from 'node:path'
import { rolldown } from 'rolldown'

/** The public entries: their name in `exports` of package.json, and their module. */
const entries = {
  index: 'index',
  'claude-agent-sdk': 'frameworks/claude-agent-sdk',
  command: 'command/index',
  driver: 'driver/index',
  'jest/index': 'fixtures/jest/index',
  'jest/environment': 'fixtures/jest/environment',
  'jest/global-setup': 'fixtures/jest/global-setup',
  'jest/global-teardown': 'fixtures/jest/global-teardown',
  langgraph: 'frameworks/langgraph',
  'node-test/index': 'fixtures/node-test/index',
  'node-test/register': 'fixtures/node-test/register',
  'openai-agents': 'frameworks/openai-agents',
  opencode: 'hooks/opencode',
  postgres: 'postgres/index',
  testing: 'testing/index',
  'vitest/index': 'fixtures/vitest/index',
  'vitest/global-setup': 'fixtures/vitest/global-setup',
  'vitest/setup': 'fixtures/vitest/setup',
}

/** Entries that share nothing with the others: each is one file. */
const alone = { lock: 'lease/injected-io-lock' }

/** Types without code: what `stint ui` serves. */
const typesOnly = { 'ui-protocol': 'ui/server/protocol' }

/** Every entry that has types. */
export const typedEntries = { ...entries, ...alone, ...typesOnly }

/** Packages that the user installs. */
const external = [
  /^node:(?!crypto$|zlib$)/,
  /^vitest/,
  /^jest-/,
  /^@langchain\//,
  /^@openai\//,
  /^@anthropic-ai\//,
]

/** Builtins that take milliseconds to load, and that few programs need at once; with the names in use. */
const lateBuiltins = { 'node:crypto': ['createHash', 'randomUUID'], 'node:zlib': ['crc32'] }

/** Loads such a builtin at the first call of one of its functions. */
const loadLate = {
  name: 'load-late',
  resolveId: (id) => (id in lateBuiltins ? `\0${id}` : null),
  load(id) {
    const builtin = id.slice(1)
    if (!(builtin in lateBuiltins)) return null
    const functions = lateBuiltins[builtin].map(
      (name) => `let ${name}Late
        export const ${name} = (...args) => (${name}Late ??= require('${builtin}').${name})(...args)`,
    )
    return [
      "import { createRequire } from 'node:module'",
      'const require = createRequire(import.meta.url)',
      ...functions,
    ].join('\n')
  },
}

/**
 * What programs load together is one chunk: each further file costs about 1 ms. `run` is for commands and
 * tests, `core` is the rest of `import 'stint'`.
 */
const groups = [
  { name: 'run', from: ['command/index', 'scratch/index', 'sweep/index'] },
  { name: 'core', from: ['index'] },
]

/** The sweep itself, which most programs never call: its door loads it. */
const isLate = (id) => /\/sweep\/(?!index\.|sweep-at-start\.)/.test(id)

/** Bundles the compiled modules in a directory. */
export async function bundleLibrary(modules, outdir) {
  const inputOf = (table) =>
    Object.fromEntries(Object.entries(table).map(([name, path]) => [name, join(modules, `${path}.js`)]))
  const files = {
    dir: outdir,
    entryFileNames: '[name].js',
    chunkFileNames: 'chunks/[name]-[hash].js',
    minify: true,
  }
  for (const [name, path] of Object.entries(alone)) {
    const bundler = await rolldown({ input: inputOf({ [name]: path }), platform: 'node' })
    await bundler.write(files)
  }
  const graph = new Map()
  const isEntry = new Set(Object.values(entries).map((name) => `${name}.js`))
  const bundler = await rolldown({
    input: inputOf(entries),
    platform: 'node',
    external,
    // A group takes modules out of entries that other entries import as well.
    preserveEntrySignatures: 'allow-extension',
    plugins: [
      loadLate,
      {
        name: 'graph',
        moduleParsed: ({ id, importedIds }) => void graph.set(id, importedIds),
      },
    ],
    checks: { ineffectiveDynamicImport: false },
  })
  const reached = (from) => {
    const ids = from.map((name) => join(modules, `${name}.js`))
    for (const id of ids) ids.push(...(graph.get(id) ?? []).filter((next) => !ids.includes(next)))
    return new Set(ids)
  }
  const members = {}
  await bundler.write({
    ...files,
    codeSplitting: {
      includeDependenciesRecursively: false,
      groups: groups.map(({ name, from }, index) => ({
        name,
        priority: groups.length - index,
        test: (id) =>
          !isEntry.has(relative(modules, id)) && !isLate(id) && (members[name] ??= reached(from)).has(id),
      })),
    },
  })
}
