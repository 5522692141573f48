import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { exportsOf, filesIn, readSource, sourceFiles, sourceImports, type Import } from './source-graph.ts'
import { projectRoot } from './world.ts'

/** The functions of `src/` with more than 60 lines, tests excepted: `file:line: message`. */
export function longFunctions(): string[] {
  const directory = mkdtempSync(join(tmpdir(), 'house-'))
  try {
    const config = join(directory, 'oxlint.json')
    const rules = { 'max-lines-per-function': ['error', { max: 60 }] }
    writeFileSync(config, JSON.stringify({ categories: { correctness: 'off' }, rules }))
    const options = ['--config', config, '--format', 'unix', '--ignore-pattern', '*.test.ts', 'src']
    const oxlint = join(projectRoot, 'node_modules/.bin/oxlint')
    const { status, stdout, stderr } = spawnSync(oxlint, options, { cwd: projectRoot, encoding: 'utf8' })
    const findings = [...stdout.matchAll(/^src\/(\S+?:\d+):\d+: (.*?)\. /gm)]
    if (status !== (findings.length === 0 ? 0 : 1)) throw new Error(`oxlint failed: ${stdout}${stderr}`)
    return findings.map(([, place, message]) => `${place}: ${message}`)
  } finally {
    rmSync(directory, { recursive: true })
  }
}

/**
 * The files under 60 lines that one other file imports: most belong into it. Not among them: doors and the
 * files behind them, public entries, and files behind `import()`, which are apart so that they load late.
 */
export function smallFilesOfOneImporter(): string[] {
  const imports = sourceImports()
  const entries = publicEntries()
  return sourceFiles().flatMap((file) => {
    const incoming = imports.filter(({ to }) => to === file)
    const importers = new Set(incoming.map(({ from }) => from))
    const lines = lineCount(file)
    const isApart = isDoor(file) || entries.has(file) || incoming.some(isLazy)
    const [importer = ''] = importers
    if (importers.size !== 1 || lines >= 60 || isApart || isDoor(importer)) return []
    return [`${file} (${lines} lines) is imported only by ${importer} (${lineCount(importer)} lines)`]
  })
}

/**
 * The exported names that no other production file uses, public names excepted: `file: name`, with a note if
 * a test uses the name.
 */
export function unusedExports(): string[] {
  const imports = sourceImports()
  const entries = publicEntries()
  const tests = filesIn(['src', 'test', 'bench'], ['.ts', '.mjs'])
    .filter((file) => !file.startsWith('src/') || file.endsWith('.test.ts'))
    .map((file) => readFileSync(join(projectRoot, file), 'utf8'))
    .join('\n')
  const isTested = (name: string): boolean => new RegExp(`\\b${name}\\b`).test(tests)
  return sourceFiles()
    .filter((file) => !entries.has(file))
    .flatMap((file) =>
      exportsOf(file)
        .filter((name) => !isUsed(file, name, imports, entries))
        .map((name) => `${file}: ${name}${isTested(name) ? ' (only tests use it)' : ''}`),
    )
}

/** The names that several files declare and export: `name: files`. */
export function namesOfSeveralFiles(): string[] {
  const filesOf = new Map<string, string[]>()
  for (const file of sourceFiles().filter((name) => !name.endsWith('index.ts')))
    for (const name of exportsOf(file)) filesOf.set(name, [...(filesOf.get(name) ?? []), file])
  return [...filesOf]
    .filter(([, files]) => files.length > 1)
    .map(([name, files]) => `${name}: ${files.join(', ')}`)
}

/** Does another file use this name, directly or through doors that pass it on? */
function isUsed(
  file: string,
  name: string,
  imports: readonly Import[],
  entries: ReadonlySet<string>,
): boolean {
  return imports
    .filter(({ to }) => to === file)
    .some(({ from, names, isReexport }) => {
      if (names === undefined && !isReexport) return new RegExp(`\\b${name}\\b`).test(readSource(from))
      if (names !== undefined && !names.includes(name)) return false
      return !isReexport || entries.has(from) || isUsed(from, name, imports, entries)
    })
}

/** The modules that `exports` of package.json publishes, as scripts/library.mjs names them. */
function publicEntries(): Set<string> {
  const script = readFileSync(join(projectRoot, 'scripts/library.mjs'), 'utf8')
  const named = [...script.matchAll(/: '([\w/-]+)'/g)].map(([, path]) => `${path}.ts`)
  return new Set(named)
}

const isDoor = (file: string): boolean => /(^|\/)index\.ts$/.test(file)

const isLazy = ({ names, isReexport }: Import): boolean => names === undefined && !isReexport

const lineCount = (file: string): number => readSource(file).split('\n').length - 1
