import { relative } from 'node:path'
import { errorMessage } from '../base/errors/stint-error.ts'
import {
  createScratch,
  joinScratch,
  type ScratchContext,
  shouldKeep,
  tmpdirVariables,
} from '../scratch/index.ts'
import { setEnvironment } from './environment.ts'
import { type Say, tellLeak } from './leak-report.ts'
import { LeakWatch } from './leak-watch.ts'
import { keepOf, type TestOptions } from './options.ts'

/**
 * What the tests of one file share: a part of the run's scratch if there is one (`STINT_TMP_DIR`, from a global setup or `stint run`), which
 * goes even if this process is killed; else a scratch of this process.
 */
export class TestFile {
  /** The file, as soon as the runner tells. */
  name: string | undefined
  readonly #scratch: ScratchContext
  #leaks: LeakWatch | undefined
  #restoreTmpdir: (() => void) | undefined

  constructor(runner: string, path?: string) {
    this.name = path && relative(process.cwd(), path)
    this.#scratch = joinScratch(process.env.STINT_TMP_DIR ?? '') ?? createScratch({ command: runner })
  }

  /** A context for one test, or for a subtest within that of its test. */
  context(test: string, within: ScratchContext = this.#scratch): ScratchContext {
    return within.context(test, { file: this.name })
  }

  /** The test is over: its files go, or are kept and its reader told where. */
  finish(context: ScratchContext, failed: boolean, options: TestOptions, say: Say): void {
    const test = JSON.stringify(context.name)
    if (shouldKeep(keepOf(options), failed) && context.used) say(keepFiles(context, test))
    for (const { path, error } of context.clean().failures)
      say(`stint: ${test} leaves ${path}, which cannot be removed: ${error}`)
  }

  /** From here on this file has a `TMPDIR` of its own, and `beginTest` and `endTest` look what is left in it. */
  watchTmpdir(): void {
    const tmp = this.#scratch.dir('tmp')
    this.#restoreTmpdir = setEnvironment(tmpdirVariables(tmp))
    this.#leaks = new LeakWatch(tmp)
  }

  beginTest(test: string): void {
    this.#leaks?.begin(test)
  }

  /** Throws what a test must fail with that has left something. */
  endTest(test: string, options: TestOptions, say: Say): void {
    tellLeak(this.#leaks?.end(test), '', options, say)
  }

  /** All tests are over: throws what the file must fail with, if something was left by none of them. */
  endTests(options: TestOptions, say: Say): void {
    tellLeak(this.#leaks?.close(), `${this.name ?? 'the test file'}, outside its tests`, options, say)
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

/** Says where they are, or why they are not: that is no reason to fail a test. */
function keepFiles(context: ScratchContext, test: string): string {
  try {
    return `stint: kept the files of ${test} for a day: ${context.keep()}`
  } catch (error) {
    return `stint: the files of ${test} could not be kept: ${errorMessage(error)}`
  }
}

const key = Symbol.for('stint.test-file')
const shared = globalThis as { [key]?: TestFile }

/** The file under way, for whoever comes second: a setup file and a fixture need not be the same copy of this module. */
export const currentTestFile = (): TestFile | undefined => shared[key]

export const setCurrentTestFile = (file: TestFile | undefined): void => {
  shared[key] = file
}
