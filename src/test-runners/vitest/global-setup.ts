import type { Leaks } from '../options.ts'
import { closeRunRoot, openRunRoot } from '../run-root.ts'

/** For `globalSetup`: one scratch for the whole run, `TMPDIR` of all workers, gone at the end even if they were killed. */
export default function setup({
  config,
}: {
  config: { env?: Partial<Record<string, unknown>> }
}): () => void {
  openRunRoot('vitest')
  // What the configuration puts into the workers' environment is not in ours.
  const leaks = config.env?.STINT_TEST_LEAKS as Leaks | undefined
  return () => {
    try {
      closeRunRoot({ leaks }, console.warn)
    } catch (error) {
      // Vitest prints what a teardown throws, but does not fail for it.
      process.exitCode = 1
      throw error
    }
  }
}
