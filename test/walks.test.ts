import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { filesImportedBy, readSource, sourceImports } from './support/source-graph.ts'
import { projectRoot, World } from './support/world.ts'

/** A walk of the architecture page: the files that a reader opens to follow one operation, in order. */
interface Walk {
  /** The heading of its list. */
  heading: string
  /** What `test/fixtures/walk.mjs` runs. */
  operation: string
  /** Found in the first file. */
  entry: RegExp
  /** Found in the last file. */
  effect: RegExp
  /** Folders of `src/` of which the walk names every file that runs. */
  domains: readonly string[]
  maxFiles: number
}

const walks: Walk[] = [
  {
    heading: 'From `session.append` to `fdatasync`',
    operation: 'append',
    entry: /\bappend\(/,
    effect: /\bfdatasync/,
    domains: ['session/'],
    maxFiles: 9,
  },
  {
    heading: 'From `acquireLease` to `link`',
    operation: 'acquireLease',
    entry: /export async function acquireLease\(/,
    effect: /\blinkSync\b/,
    domains: ['lease/'],
    maxFiles: 7,
  },
  {
    heading: 'From SIGTERM to the empty temp root',
    operation: 'SIGTERM',
    entry: /new Interruptions\(/,
    effect: /\brenameSync\(/,
    domains: ['command/', 'scratch/', 'sweep/', 'secrets/', 'cli/'],
    maxFiles: 10,
  },
  {
    heading: 'From a PreToolUse event to the verdict',
    operation: 'PreToolUse',
    entry: /process\.exitCode =/,
    effect: /permissionDecision/,
    domains: ['hooks/'],
    maxFiles: 12,
  },
  {
    heading: 'From `stint sessions list` to the rows',
    operation: 'sessions list',
    entry: /\blist: \{/,
    effect: /SessionSummary/,
    domains: ['session/'],
    maxFiles: 8,
  },
]

const page = readFileSync(join(projectRoot, 'docs/architecture.md'), 'utf8')
const imports = sourceImports()

/** One numbered line: a file, and the contract through which the walk gets there, if no file imports it. */
interface Step {
  file: string
  contract: string | undefined
}

function stepsOf({ heading }: Walk): Step[] {
  const [, section = ''] = page.split(`### ${heading}\n`)
  const lines = section.split(/^#/m)[0]?.match(/^\d+\. .*(?:\n {2,}.*)*/gm) ?? []
  return lines.map((line) => ({
    file: /`([\w/-]+\.ts)`/.exec(line)?.[1] ?? '',
    contract: /behind `([\w/-]+\.ts)`/.exec(line)?.[1],
  }))
}

/**
 * Can a reader get from the earlier files to this one? By an import, or by a contract that both sides import.
 */
function isReached({ file, contract }: Step, earlier: readonly string[]): boolean {
  const importedBy = (from: string): Set<string> => filesImportedBy(from, imports)
  if (contract === undefined) return earlier.some((from) => importedBy(from).has(file))
  const knowsContract = (each: string): boolean => each === contract || importedBy(each).has(contract)
  return importedBy(file).has(contract) && earlier.some(knowsContract)
}

test.each(walks)('$heading: every file is reached from the ones before it', (walk) => {
  const steps = stepsOf(walk)
  const files = steps.map(({ file }) => file)
  expect(files.length).toBeGreaterThan(3)
  expect(files.length, `files from ${walk.entry} to ${walk.effect}`).toBeLessThanOrEqual(walk.maxFiles)
  expect(readSource(files.at(0) ?? '')).toMatch(walk.entry)
  expect(readSource(files.at(-1) ?? '')).toMatch(walk.effect)
  const lost = steps.slice(1).filter((step, index) => !isReached(step, files.slice(0, index + 1)))
  expect(lost).toEqual([])
})

test.each(walks)('$heading: no other file of its domains runs', async (walk) => {
  await using world = new World()
  const output = join(world.tmp, 'files')
  const event = {
    hook_event_name: 'PreToolUse',
    session_id: 'walk',
    cwd: world.tmp,
    tool_name: 'Write',
    tool_input: { file_path: join(world.tmp, 'file') },
  }
  const { stdout, stderr } = await world.start(
    process.execPath,
    [join(projectRoot, 'test/fixtures/walk.mjs'), walk.operation, output],
    { input: JSON.stringify(event), env: { HOME: world.tmp } },
  ).finished
  expect(existsSync(output), `${stdout}${stderr}`).toBe(true)
  const ran = readFileSync(output, 'utf8').split('\n')
  const named = new Set(stepsOf(walk).map(({ file }) => file))
  // The commands of a room are a layer above it, and start the operation.
  const isCommand = (file: string): boolean => /^[\w-]+\/commands\//.test(file)
  const unnamed = ran.filter(
    (file) => walk.domains.some((domain) => file.startsWith(domain)) && !isCommand(file) && !named.has(file),
  )
  expect(unnamed).toEqual([])
})
