/**
 * A scratch for every test of node:test.
 *
 * @module stint/node-test
 */
import { AsyncLocalStorage } from 'node:async_hooks'
import type { ScratchContext } from '../../scratch/index.ts'
import { type KeepOptions, keepOf } from '../options.ts'
import { currentTestFile, setCurrentTestFile, TestFile } from '../test-file.ts'

export type { KeepOptions } from '../options.ts'

/** The part of node:test's `TestContext` that is used here. */
export interface TestContextLike {
  readonly name: string
  readonly fullName?: string
  readonly passed?: boolean
  after(hook: () => void): void
  diagnostic(message: string): void
}

interface Test {
  context: ScratchContext
  failed: boolean
}

const tests = new WeakMap<TestContextLike, Test>()
const enclosing = new AsyncLocalStorage<Test>()

/**
 * The context of a test, in the scratch of the run. It is removed after the test, whether the test passes or
 * fails. The context of a subtest lies within that of its test, if that has one.
 *
 * @example
 * test('reads its input', (t) => {
 *   const input = scratch(t).file('input.json', '{}')
 * })
 */
export function scratch(t: TestContextLike, options: KeepOptions = {}): ScratchContext {
  const known = tests.get(t)
  if (known !== undefined) return known.context
  keepOf(options)
  const file = currentTestFile() ?? openTestFile()
  const outer = enclosing.getStore()
  const test: Test = {
    context: file.context(outer === undefined ? (t.fullName ?? t.name) : t.name, outer?.context),
    failed: false,
  }
  tests.set(t, test)
  enclosing.enterWith(test)
  t.after(() => {
    // `passed` does not yet reflect the failure of a subtest.
    const failed = test.failed || t.passed === false
    if (outer !== undefined) outer.failed ||= failed
    file.finish(test.context, failed, options, (message) => t.diagnostic(message))
  })
  return test.context
}

function openTestFile(): TestFile {
  const file = new TestFile('node:test', process.argv[1])
  setCurrentTestFile(file)
  process.once('exit', () => file.close({}, console.warn))
  return file
}
