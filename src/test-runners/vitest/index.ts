/**
 * A scratch for every test of Vitest.
 *
 * @module stint/vitest
 */
import { test as base, type TestAPI } from 'vitest'
import type { ScratchContext } from '../../scratch/index.ts'
import { type KeepOptions, keepOf } from '../options.ts'
import { currentTestFile, TestFile } from '../test-file.ts'
import { fullName } from './full-name.ts'

export type { KeepOptions } from '../options.ts'

export interface ScratchFixtures {
  /** The context of the test, removed after it, whether it passes or fails. */
  scratch: ScratchContext
}

/**
 * Adds the fixture `scratch` to your own `test`.
 *
 * @example
 * export const test = withScratch(myTest, { keep: 'on-failure' })
 */
export function withScratch<Given>(
  test: TestAPI<Given>,
  options: KeepOptions = {},
): TestAPI<Given & ScratchFixtures> {
  // Throw for an invalid policy before any test runs.
  keepOf(options)
  const extended = (test as unknown as TestAPI).extend<ScratchFixtures & { scratchFile: TestFile }>({
    scratchFile: [
      // Vitest ends its workers with a signal, so close the file here, not at exit.
      // oxlint-disable-next-line no-empty-pattern -- Vitest reads the needed fixtures from this pattern
      async ({}, use) => {
        const opened = currentTestFile()
        const file = opened ?? new TestFile('vitest')
        await use(file)
        if (opened === undefined) file.close(options, console.warn)
      },
      { scope: 'file' },
    ],
    scratch: async ({ task, scratchFile }, use) => {
      scratchFile.name = task.file.name
      const context = scratchFile.context(fullName(task))
      await use(context)
      const failed = (task.result?.state === 'fail') !== (task.fails ?? false)
      scratchFile.finish(context, failed, options, console.warn)
    },
  })
  return extended as unknown as TestAPI<Given & ScratchFixtures>
}

/**
 * Vitest's `test` with the fixture `scratch`.
 *
 * @example
 * test('reads its input', ({ scratch }) => {
 *   expect(parse(scratch.file('input.json', '{}'))).toEqual({})
 * })
 */
export const test: TestAPI<ScratchFixtures> = withScratch(base)
export const it: TestAPI<ScratchFixtures> = test
