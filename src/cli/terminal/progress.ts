import { formatBytes } from '../../base/text/size.ts'

/** How far something is that takes long. */
export interface Progress {
  label: string
  /** How many are done of how many; left out where nobody knows how much there is. */
  count?: { done: number; total: number }
  bytes: number
  elapsedMs: number
}

const barWidth = 24

/** One line without colours, never as wide as the terminal: a full line would wrap, and could not be drawn over. */
export function progressLine({ label, count, bytes, elapsedMs }: Progress, columns: number): string {
  const seconds = `${Math.floor(elapsedMs / 1000)}s`
  const bar = count === undefined ? '' : ` ${barOf(count)}`
  return `${label}${bar}  ${formatBytes(bytes)}  ${seconds}`.slice(0, Math.max(0, columns - 1))
}

function barOf({ done, total }: NonNullable<Progress['count']>): string {
  const share = total === 0 ? 1 : Math.min(1, done / total)
  const filled = Math.round(share * barWidth)
  const percent = `${Math.floor(share * 100)}%`.padStart(4)
  return `[${'='.repeat(filled)}${' '.repeat(barWidth - filled)}] ${percent}  ${done}/${total}`
}

/** Is there somebody who looks at stderr, on something that can draw a line over? */
export const wantsProgress = (isTerminal: boolean, env: NodeJS.ProcessEnv): boolean =>
  isTerminal && !env.CI && env.TERM !== 'dumb'

export interface ProgressBarOptions {
  label: string
  columns: number
  write: (text: string) => void
  /** Milliseconds, of any origin. */
  now: () => number
}

const quietMs = 500
const redrawMs = 100
const clearLine = '\r\x1b[K'

/** Draws only if it takes long, over itself, and leaves nothing behind. */
export class ProgressBar {
  readonly #options: ProgressBarOptions
  readonly #startedAt: number
  #drawnAt = Number.NEGATIVE_INFINITY
  #cleared = false

  constructor(options: ProgressBarOptions) {
    this.#options = options
    this.#startedAt = options.now()
  }

  update(progress: Omit<Progress, 'label' | 'elapsedMs'>): void {
    const { label, columns, write, now } = this.#options
    const elapsedMs = now() - this.#startedAt
    if (this.#cleared || elapsedMs < quietMs || elapsedMs - this.#drawnAt < redrawMs) return
    this.#drawnAt = elapsedMs
    write(`${clearLine}${progressLine({ label, ...progress, elapsedMs }, columns)}`)
  }

  /** For good: what comes after it is drawn no more. */
  clear(): void {
    if (!this.#cleared && this.#drawnAt >= 0) this.#options.write(clearLine)
    this.#cleared = true
  }
}
