import { systemClock } from '../../base/process/clock.ts'
import { writeOut, isTerminal } from '../../base/process/terminal.ts'
import { formatBytes } from '../../base/text/size.ts'
import type { BareContext } from '../../command/context.ts'

/** How far a long operation is. */
interface Progress {
  /** Missing if the total is not known. */
  count?: { done: number; total: number }
  /** Missing if the work has no size. */
  bytes?: number
}

/** One line, always narrower than the terminal: a full line would wrap, and could not be redrawn. */
export function progressLine(
  label: string,
  { count, bytes }: Progress,
  elapsedMs: number,
  columns: number,
): string {
  const seconds = `${Math.floor(elapsedMs / 1000)}s`
  const share = count === undefined ? '' : ` ${count.done}/${count.total}`
  const size = bytes === undefined ? '' : `  ${formatBytes(bytes)}`
  return `${label}${share}${size}  ${seconds}`.slice(0, Math.max(0, columns - 1))
}

/** Is the output a terminal that can be redrawn, with a person in front of it? */
export const wantsProgress = (isTerminal: boolean, env: NodeJS.ProcessEnv): boolean =>
  isTerminal && !env.CI && env.TERM !== 'dumb'

const quietMs = 500
const redrawMs = 100
/** Work that reports nothing for a while still shows that it is under way. */
const tickMs = 250
const clearLine = '\r\x1b[K'

interface ProgressBar {
  /** Draws the line again, unless that was a moment ago. */
  update(next: Progress): void
  /** Removes the line for good: later updates draw nothing. */
  clear(): void
}

/**
 * Opens a line on stderr that is redrawn in place, if that is a terminal. A short operation shows none, and
 * nothing is left of it at the end, nor after an interruption.
 */
export async function openProgressBar(
  label: string,
  { signal, quiet }: Pick<BareContext, 'signal' | 'quiet'>,
): Promise<ProgressBar | undefined> {
  if (quiet || !wantsProgress(await isTerminal(2), process.env)) return undefined
  const columns = process.stderr.columns || 80
  const startedAt = systemClock.mono()
  let drawnAt: number | undefined
  let progress: Progress = {}
  const draw = (): void => {
    const elapsedMs = systemClock.mono() - startedAt
    if (elapsedMs < quietMs || elapsedMs - (drawnAt ?? 0) < redrawMs) return
    drawnAt = elapsedMs
    writeOut(2, `${clearLine}${progressLine(label, progress, elapsedMs, columns)}`)
  }
  const timer = setInterval(draw, tickMs).unref()
  let isOver = false
  const clear = (): void => {
    if (isOver) return
    isOver = true
    clearInterval(timer)
    signal.removeEventListener('abort', clear)
    if (drawnAt !== undefined) writeOut(2, clearLine)
  }
  // Otherwise the message about the interruption would follow the bar on the same line.
  signal.addEventListener('abort', clear, { once: true })
  return {
    update(next) {
      progress = next
      if (!isOver) draw()
    },
    clear,
  }
}

/**
 * Shows on a terminal that work is under way, and for how long, if it takes a while. An interruption ends the
 * wait at once, so the work must be such that nothing has to be undone.
 */
export async function showWork<Result>(
  label: string,
  context: Pick<BareContext, 'signal' | 'quiet'>,
  work: (update: (progress: Progress) => void) => Promise<Result>,
): Promise<Result> {
  const bar = await openProgressBar(label, context)
  const { signal } = context
  let interrupt = (): void => {}
  const interrupted = new Promise<never>((_, reject) => (interrupt = () => reject(signal.reason as Error)))
  signal.addEventListener('abort', interrupt, { once: true })
  if (signal.aborted) interrupt()
  try {
    return await Promise.race([interrupted, work((next) => bar?.update(next))])
  } finally {
    bar?.clear()
    // A command that watches does the same work again and again.
    signal.removeEventListener('abort', interrupt)
  }
}
