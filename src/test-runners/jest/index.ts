/**
 * A scratch for every test of Jest.
 *
 * @module stint/jest
 */
import { StintError } from '../../base/errors/stint-error.ts'
import type { ScratchContext } from '../../scratch/index.ts'
import { type CurrentScratch, scratchKey } from './scratch-key.ts'

/**
 * The context of the running test, in the scratch of the run. It is removed after the test, whether the test
 * passes or fails. Needs `testEnvironment: 'stint/jest/environment'`.
 *
 * @example
 * test('reads its input', () => {
 *   const input = scratch().file('input.json', '{}')
 * })
 */
export function scratch(): ScratchContext {
  const current = (globalThis as { [scratchKey]?: () => CurrentScratch })[scratchKey]
  if (current === undefined)
    throw new StintError('ARG_ERROR', 'scratch() needs the Jest environment of stint', {
      hint: "Set testEnvironment: 'stint/jest/environment' in the configuration of Jest.",
    })
  const context = current()
  if (context === 'concurrent')
    throw new StintError('ARG_ERROR', 'scratch() does not work in test.concurrent', {
      hint: 'Jest does not tell which of its concurrent tests calls. Use test, or createScratch() of stint.',
    })
  if (context === undefined)
    throw new StintError('ARG_ERROR', 'scratch() belongs in a test or its beforeEach', {
      hint: 'In beforeAll, or at the top level of a file, no test is running whose files these could be.',
    })
  return context
}
