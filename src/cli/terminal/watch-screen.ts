import { after } from '../../base/process/clock.ts'
import { deliver, isTerminal } from '../../base/process/terminal.ts'
import { visibleAnswer, visibleJson } from '../../base/text/escape.ts'
import { formatDuration } from '../../base/text/duration.ts'
import type { BareContext, Screen } from '../../command/context.ts'
import type { OptionTable } from '../../command/define-command.ts'
import { StintError } from '../../base/errors/stint-error.ts'
import { print } from './print.ts'
import { wantsProgress } from './progress.ts'

/** The option of commands that refresh what they show. */
export const intervalOption = {
  interval: { type: 'duration', value: 'D', help: 'time between two updates (2s), at least 50ms' },
} as const satisfies OptionTable

/** The options of commands that show their answer once, or again and again. */
export const watchOptions = {
  watch: { type: 'boolean', help: 'keep it up to date; in a pipe, print a block for each change' },
  ...intervalOption,
} as const satisfies OptionTable

const defaultIntervalMs = 2000
const leastIntervalMs = 50

/** Returns the interval in milliseconds. */
export function readInterval(intervalMs: number | undefined): number {
  if (intervalMs === undefined || intervalMs >= leastIntervalMs) return intervalMs ?? defaultIntervalMs
  throw new StintError('ARG_ERROR', `--interval must be at least ${leastIntervalMs}ms`)
}

/** Returns the interval in milliseconds; undefined if the answer is shown only once. */
export function readWatch({ watch, interval }: { watch: boolean; interval?: number }): number | undefined {
  if (watch) return readInterval(interval)
  if (interval !== undefined) throw new StintError('ARG_ERROR', '--interval goes with --watch')
  return undefined
}

/** An answer that a command shows again and again. */
interface Watched<Data> {
  /** The command as its user calls it: `stint status`. */
  called: string
  look(): Promise<Data>
  /** The lines of an answer. On a small screen those of `todo` stay visible. */
  render(data: Data, screen: Screen): { body: string[]; todo?: string[] }
  /** The part of an answer that changes only if something happens, as ages do not. */
  stableFields(data: Data): unknown
}

/**
 * Shows an answer again and again until it is stopped or its reader is gone: on a terminal it redraws one
 * screen, elsewhere it prints a block for each change.
 */
export async function watchScreen<Data>(
  context: Pick<BareContext, 'signal' | 'json' | 'screen'>,
  intervalMs: number,
  watched: Watched<Data>,
): Promise<void> {
  const onTerminal = await isTerminal(1)
  const redraws = !context.json && wantsProgress(onTerminal, process.env)
  const display = redraws ? redrawScreen(context, intervalMs, watched) : printChanges(context, watched)
  while (!context.signal.aborted) {
    if (!display.show(await watched.look())) return
    await display.pause(intervalMs)
  }
}

interface Display<Data> {
  /** Returns false if the reader is gone. */
  show(data: Data): boolean
  pause(ms: number): Promise<void>
}

function printChanges<Data>(
  { json, screen }: Pick<BareContext, 'json' | 'screen'>,
  { render, stableFields }: Watched<Data>,
): Display<Data> {
  let last = ''
  return {
    show(data) {
      const fields = JSON.stringify(stableFields(data))
      if (fields === last) return true
      const isFirst = last === ''
      last = fields
      const { body, todo = [] } = render(data, screen)
      const text = json ? visibleJson(data) : [...(isFirst ? [] : ['']), ...body, ...todo].join('\n')
      return print(`${text}\n`)
    },
    pause: after,
  }
}

function redrawScreen<Data>(
  context: Pick<BareContext, 'screen'>,
  intervalMs: number,
  { called, render }: Watched<Data>,
): Display<Data> {
  const screen = new AlternateScreen()
  let last: { data: Data; at: Date } | undefined
  let wake = (): void => {}
  const draw = ({ data, at }: { data: Data; at: Date }): boolean => {
    const terminal = context.screen
    // The title takes a row.
    const { body, todo = [] } = render(data, { ...terminal, rows: terminal.rows - 1 })
    const time = at.toTimeString().slice(0, 8)
    const title = `${called} at ${time}, every ${formatDuration(intervalMs)}; Ctrl-C ends it`
    return screen.draw(fitRows([terminal.paint.dim(title), ...body], todo, process.stdout.rows || 24))
  }
  process.stdout.on('resize', () => last !== undefined && draw(last))
  // Ctrl-Z gives the screen back to the shell; after `fg` the answer is drawn again at once.
  process.on('SIGTSTP', () => {
    screen.close()
    process.kill(process.pid, 'SIGSTOP')
  })
  process.on('SIGCONT', () => wake())
  return {
    show: (data) => draw((last = { data, at: new Date() })),
    pause: (ms) => Promise.race([after(ms), new Promise<void>((resolve) => (wake = resolve))]),
  }
}

/** Switches to the alternate screen, hides the cursor, and cuts long lines instead of wrapping them. */
const enter = '\x1b[?1049h\x1b[?25l\x1b[?7l'
const leave = '\x1b[?7h\x1b[?25h\x1b[?1049l'

/** The terminal's alternate screen, which is left however the process ends. */
class AlternateScreen {
  #isOpen = false

  constructor() {
    process.on('exit', () => this.close())
  }

  /** Returns false if the terminal is gone. */
  draw(lines: readonly string[]): boolean {
    const before = this.#isOpen ? '' : enter
    this.#isOpen = true
    const text = lines.map((line) => `${visibleAnswer(line)}\x1b[K`).join('\r\n')
    return deliver(1, `${before}\x1b[H${text}\x1b[J`) === 'written'
  }

  close(): void {
    if (this.#isOpen) deliver(1, leave)
    this.#isOpen = false
  }
}

/** Cuts the body, so that body and to-do list fit into this many rows; the to-do list stays visible. */
export function fitRows(body: readonly string[], todo: readonly string[], rows: number): string[] {
  const room = rows - todo.length
  if (body.length <= room) return [...body, ...todo]
  return [...body.slice(0, Math.max(0, room - 1)), '…', ...todo].slice(0, rows)
}
