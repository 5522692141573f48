import type { Leaks } from '../options.ts'
import { closeRunRoot, openRunRoot } from '../run-root.ts'

/** For `globalSetup`: one scratch, with `TMPDIR` of all workers, removed even if workers were killed. */
export default function setup({
  config,
}: {
  config: { env?: Partial<Record<string, unknown>> }
}): () => void {
  openRunRoot('vitest')
  // `config.env` sets variables of the workers only.
  const leaks = config.env?.STINT_TEST_LEAKS as Leaks | undefined
  return () => {
    try {
      closeRunRoot({ leaks }, console.warn)
    } catch (error) {
      // Vitest prints an error of a teardown, but exits with 0.
      process.exitCode = 1
      throw error
    }
  }
}
