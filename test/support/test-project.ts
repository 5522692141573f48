import { cpSync, existsSync, mkdirSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { packagesFor, type TestRunner } from './runner-packages.ts'
import { type Finished, projectRoot, type Running, World } from './world.ts'

const commands: Record<TestRunner, string[]> = {
  vitest: ['node_modules/vitest/vitest.mjs', 'run'],
  'node-test': ['--require', 'stint/node-test/register', '--test', '--test-reporter', 'spec'],
  jest: ['node_modules/jest/bin/jest.js', '--watchman=false'],
}

/** An example project as a user would have it, with stint installed, plus the given files. */
export class TestProject extends World {
  readonly path = join(this.tmp, 'project')
  readonly #runner: TestRunner
  /** The temp directory of the user. */
  readonly #tmpdir = join(this.tmp, 'tmp')

  constructor(runner: TestRunner, files: Readonly<Record<string, string>> = {}) {
    super({ NO_COLOR: '1' })
    this.#runner = runner
    this.env.TMPDIR = this.#tmpdir
    delete this.env.FORCE_COLOR
    mkdirSync(this.#tmpdir)
    const example = join(projectRoot, 'examples', runner)
    cpSync(example, this.path, { recursive: true, filter: (path) => !path.includes('node_modules') })
    const type = runner === 'jest' ? 'commonjs' : 'module'
    writeFileSync(join(this.path, 'package.json'), JSON.stringify({ name: 'project', private: true, type }))
    for (const [name, source] of Object.entries(files)) writeFileSync(join(this.path, name), source)
    symlinkSync(packagesFor(runner), join(this.path, 'node_modules'))
  }

  /** Starts the runner on all test files, or on the given ones. */
  startTests(args: readonly string[] = [], env: NodeJS.ProcessEnv = {}): Running {
    const options = this.#runner === 'jest' ? jestOptions(args) : []
    return this.start(process.execPath, [...commands[this.#runner], ...options, ...args], {
      cwd: this.path,
      env,
    })
  }

  /** Runs the tests; returns the exit code, and stdout and stderr in one string. */
  async test(
    args: readonly string[] = [],
    env: NodeJS.ProcessEnv = {},
  ): Promise<Pick<Finished, 'code'> & { printed: string }> {
    const { code, stdout, stderr } = await this.startTests(args, env).finished
    return { code, printed: `${stdout}\n${stderr}` }
  }

  /** The files that runs have left, except kept ones. */
  remains(): string[] {
    return [...this.leftovers(), ...readdirSync(this.#tmpdir)]
  }

  /** The kept directories of tests, without the records of stint beside them. */
  kept(): string[] {
    const out = join(this.root, 'out')
    if (!existsSync(out)) return []
    return readdirSync(out).flatMap((run) =>
      readdirSync(join(out, run))
        .filter((name) => !name.startsWith('.'))
        .map((name) => join(out, run, name)),
    )
  }
}

/** A cache shared by all runs, and two workers, because on a small machine Jest starts none. */
const jestOptions = (args: readonly string[]): string[] => [
  `--cacheDirectory=${join(packagesFor('jest'), '.cache/jest')}`,
  ...(args.includes('--runInBand') ? [] : ['--maxWorkers=2']),
]

/** The reports of leaks that a runner printed, in alphabetical order, without the random ends of names. */
export const printedLeaks = (printed: string): string[] =>
  [...printed.matchAll(/stint: left in TMPDIR by ([^(\n]*?) *(?=\(|$)/gm)]
    .map(([, leak = '']) => leak.replaceAll(/-\w{6}\b/g, ''))
    .toSorted()

/** The values that a test file printed as `name=value`. */
export const printedValues = (printed: string, name: string): string[] =>
  [...printed.matchAll(new RegExp(`${name}=(\\S+)`, 'g'))].map(([, value = '']) => value)
