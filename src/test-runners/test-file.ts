import { relative } from 'node:path'
import { errorMessage } from '../base/errors/stint-error.ts'
import {
  createScratch,
  joinScratch,
  type ScratchContext,
  shouldKeep,
  tmpdirVariables,
} from '../scratch/index.ts'
import { LeakWatch, reportLeak, type Say } from './leaks.ts'
import { keepOf, type TestOptions } from './options.ts'

/**
 * The scratch that the tests of one file share. If `STINT_TMP_DIR` names the scratch of the run (from a
 * global setup or `stint run`), it is a part of that, which is removed even if this process is killed.
 * Otherwise this process makes one.
 */
export class TestFile {
  /** The path of the file, as soon as the runner tells it. */
  name: string | undefined
  readonly #scratch: ScratchContext
  #leaks: LeakWatch | undefined
  #restoreTmpdir: (() => void) | undefined

  constructor(runner: string, path?: string) {
    this.name = path && relative(process.cwd(), path)
    this.#scratch = joinScratch(process.env.STINT_TMP_DIR ?? '') ?? createScratch({ command: runner })
  }

  /** Makes a context for one test, or for a subtest within the context of its test. */
  context(test: string, within: ScratchContext = this.#scratch): ScratchContext {
    return within.context(test, { file: this.name })
  }

  /** Ends a test: removes its files, or keeps them and prints where they are. */
  finish(context: ScratchContext, failed: boolean, options: TestOptions, say: Say): void {
    const test = JSON.stringify(context.name)
    if (shouldKeep(keepOf(options), failed) && context.used) say(keepFiles(context, test))
    for (const { path, error } of context.clean().failures)
      say(`stint: ${test} leaves ${path}, which cannot be removed: ${error}`)
  }

  /** Gives this file a `TMPDIR` of its own, which `beginTest` and `endTest` check for leaks. */
  watchTmpdir(): void {
    const tmp = this.#scratch.dir('tmp')
    this.#restoreTmpdir = setEnvironment(tmpdirVariables(tmp))
    this.#leaks = new LeakWatch(tmp)
  }

  beginTest(test: string): void {
    this.#leaks?.begin(test)
  }

  /** Reports the files that a test has left. Throws if the policy is to fail the test. */
  endTest(test: string, options: TestOptions, say: Say): void {
    reportLeak(this.#leaks?.end(test), '', options, say)
  }

  /** Reports the files left outside the tests. Throws if the policy is to fail the file. */
  endTests(options: TestOptions, say: Say): void {
    reportLeak(this.#leaks?.close(), `${this.name ?? 'the test file'}, outside its tests`, options, say)
  }

  close(options: TestOptions, say: Say): void {
    try {
      this.endTests(options, say)
    } finally {
      this.#restoreTmpdir?.()
      for (const { path, error } of this.#scratch.clean().failures)
        say(`stint: ${path} cannot be removed: ${error}`)
    }
  }
}

/** Keeps the files of a test. Returns a message either way: a failure to keep them must not fail the test. */
function keepFiles(context: ScratchContext, test: string): string {
  try {
    return `stint: kept the files of ${test} for a day: ${context.keep()}`
  } catch (error) {
    return `stint: the files of ${test} could not be kept: ${errorMessage(error)}`
  }
}

/** Sets variables of this process, and so of its children; returns a function that restores them. */
export function setEnvironment(variables: Readonly<Record<string, string>>): () => void {
  const before = Object.keys(variables).map((name) => [name, process.env[name]] as const)
  Object.assign(process.env, variables)
  return () => {
    for (const [name, value] of before)
      if (value === undefined) delete process.env[name]
      else process.env[name] = value
  }
}

const key = Symbol.for('stint.test-file')
const shared = globalThis as { [key]?: TestFile }

/** The test file of a setup file. Global, because that may use another copy of this module. */
export const currentTestFile = (): TestFile | undefined => shared[key]

export const setCurrentTestFile = (file: TestFile | undefined): void => {
  shared[key] = file
}
