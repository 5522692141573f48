import { StintError } from '../base/errors/stint-error.ts'
import { isSessionId } from '../base/text/id.ts'
import { createScratch, scratchVariables } from '../scratch/index.ts'
import { sweepAtStart } from '../sweep/index.ts'
import { listLeft, reportLeak, type Say } from './leaks.ts'
import { keepOf, leaksOf, type TestOptions } from './options.ts'
import { setEnvironment } from './test-file.ts'

interface RunRoot {
  /** The number of projects of the run that share it. */
  users: number
  close: (options: TestOptions, say: Say) => void
}

const key = Symbol.for('stint.run-root')
const shared = globalThis as { [key]?: RunRoot }

/**
 * Makes the one scratch of a whole test run, in the process that starts the workers. `TMPDIR`, here and in
 * the workers, becomes a directory in it, and the contexts of the workers are in it, too. It is removed when
 * this process ends, even if workers were killed; if this process is killed, by the next sweep.
 */
export function openRunRoot(runner: string): void {
  // Throw for an invalid policy before any test runs.
  keepOf({})
  leaksOf({})
  shared[key] ??= makeRunRoot(runner)
  shared[key].users += 1
}

/** Undoes one `openRunRoot`. Throws if files were left in `TMPDIR` and the policy is to fail the run. */
export function closeRunRoot(options: TestOptions, say: Say): void {
  const root = shared[key]
  if (root === undefined) throw new StintError('NOT_FOUND', 'no run root is open')
  root.users -= 1
  if (root.users > 0) return
  delete shared[key]
  root.close(options, say)
}

function makeRunRoot(runner: string): RunRoot {
  const { STINT_REQUEST_ID: parentRequestId, STINT_SESSION_ID: sessionId = '' } = process.env
  const scratch = createScratch({
    command: runner,
    parentRequestId,
    sessionId: isSessionId(sessionId) ? sessionId : undefined,
  })
  void sweepAtStart(scratch)
  const tmp = scratch.dir('tmp')
  const restoreEnvironment = setEnvironment(scratchVariables(scratch, tmp))
  const close = (options: TestOptions, say: Say): void => {
    restoreEnvironment()
    const entries = listLeft(tmp)
    for (const { path, error } of scratch.remove().failures) say(`stint: ${path} cannot be removed: ${error}`)
    const leak = entries.length === 0 ? undefined : { entries, tests: [] }
    reportLeak(leak, 'code outside all watched tests', options, say)
  }
  return { users: 0, close }
}
