import { formatDuration, timerMs } from '../base/text/duration.ts'
import { errorMessage } from '../base/errors/stint-error.ts'

export type CleanupHook = () => void | Promise<void>

/** Runs the hooks newest first, each within the time it may take; what goes wrong is told, never thrown. */
export async function runCleanupHooks(
  hooks: readonly CleanupHook[],
  withinMs: number,
  warn: (message: string) => void,
): Promise<void> {
  for (const hook of hooks.toReversed()) {
    try {
      await within(withinMs, hook)
    } catch (error) {
      warn(`CLEANUP_FAILED: ${errorMessage(error)}`)
    }
  }
}

async function within(ms: number, hook: CleanupHook): Promise<void> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(
      () => reject(new Error(`a cleanup hook took longer than ${formatDuration(ms)}`)),
      timerMs(ms),
    )
  })
  try {
    await Promise.race([hook(), late])
  } finally {
    clearTimeout(timer)
  }
}
