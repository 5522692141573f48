import { systemClock } from '../../base/process/clock.ts'
import { writeOut, isTerminal } from '../../base/process/terminal.ts'
import { formatBytes } from '../../base/text/size.ts'
import type { BareContext } from '../../command/context.ts'

/** How far a long operation is. */
interface Done {
  /** Missing if the total is not known. */
  count?: { done: number; total: number }
  /** Missing if the work has no size. */
  bytes?: number
}

interface Progress extends Done {
  label: string
  elapsedMs: number
}

/** One line, always narrower than the terminal: a full line would wrap, and could not be redrawn. */
export function progressLine({ label, count, bytes, elapsedMs }: Progress, columns: number): string {
  const seconds = `${Math.floor(elapsedMs / 1000)}s`
  const share = count === undefined ? '' : ` ${count.done}/${count.total}`
  const size = bytes === undefined ? '' : `  ${formatBytes(bytes)}`
  return `${label}${share}${size}  ${seconds}`.slice(0, Math.max(0, columns - 1))
}

/** Is the output a terminal that can be redrawn, with a person in front of it? */
export const wantsProgress = (isTerminal: boolean, env: NodeJS.ProcessEnv): boolean =>
  isTerminal && !env.CI && env.TERM !== 'dumb'

/** Opens a progress bar on stderr, if that is a terminal. An interruption clears it. */
export async function openProgressBar(
  label: string,
  { signal, quiet }: Pick<BareContext, 'signal' | 'quiet'>,
): Promise<ProgressBar | undefined> {
  if (quiet || !wantsProgress(await isTerminal(2), process.env)) return undefined
  const write = (text: string): void => void writeOut(2, text)
  const columns = process.stderr.columns || 80
  // Work that reports nothing for a while still shows that it is under way.
  const timer = setInterval(() => bar.update(), tickMs).unref()
  const bar = new ProgressBar({
    label,
    columns,
    write,
    now: systemClock.mono,
    onClear() {
      clearInterval(timer)
      signal.removeEventListener('abort', clear)
    },
  })
  const clear = (): void => bar.clear()
  // Otherwise the message about the interruption would follow the bar on the same line.
  signal.addEventListener('abort', clear, { once: true })
  return bar
}

const tickMs = 250

/**
 * Shows on a terminal that work is under way, and for how long, if it takes a while. An interruption ends the
 * wait at once, so the work must be such that nothing has to be undone.
 */
export async function showWork<Result>(
  label: string,
  context: Pick<BareContext, 'signal' | 'quiet'>,
  work: (update: (progress: Done) => void) => Promise<Result>,
): Promise<Result> {
  const bar = await openProgressBar(label, context)
  const { signal } = context
  let interrupt = (): void => {}
  const interrupted = new Promise<never>((_, reject) => (interrupt = () => reject(signal.reason as Error)))
  signal.addEventListener('abort', interrupt, { once: true })
  if (signal.aborted) interrupt()
  try {
    return await Promise.race([interrupted, work((done) => bar?.update(done))])
  } finally {
    bar?.clear()
    // A command that watches does the same work again and again.
    signal.removeEventListener('abort', interrupt)
  }
}

interface ProgressBarOptions {
  label: string
  columns: number
  write: (text: string) => void
  /** A clock in milliseconds, with any origin. */
  now: () => number
  onClear?: () => void
}

const quietMs = 500
const redrawMs = 100
const clearLine = '\r\x1b[K'

/** A line that is redrawn in place. A short operation shows none, and nothing is left of it at the end. */
export class ProgressBar {
  readonly #options: ProgressBarOptions
  readonly #startedAt: number
  #drawnAt = Number.NEGATIVE_INFINITY
  #cleared = false
  #done: Done = {}

  constructor(options: ProgressBarOptions) {
    this.#options = options
    this.#startedAt = options.now()
  }

  /** Draws the line again, unless that was a moment ago. Without an argument, nothing more was done. */
  update(done: Done = this.#done): void {
    this.#done = done
    const { label, columns, write, now } = this.#options
    const elapsedMs = now() - this.#startedAt
    if (this.#cleared || elapsedMs < quietMs || elapsedMs - this.#drawnAt < redrawMs) return
    this.#drawnAt = elapsedMs
    write(`${clearLine}${progressLine({ label, ...done, elapsedMs }, columns)}`)
  }

  /** Removes the line for good: later updates draw nothing. */
  clear(): void {
    if (!this.#cleared && this.#drawnAt >= 0) this.#options.write(clearLine)
    this.#cleared = true
    this.#options.onClear?.()
  }
}
