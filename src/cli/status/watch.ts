import { after } from '../../base/process/clock.ts'
import { deliver } from '../../base/process/write-output.ts'
import { visibleAnswer, visibleJson } from '../../base/text/escape.ts'
import { formatDuration } from '../../base/text/duration.ts'
import type { BareContext } from '../../command/context.ts'
import { isTerminal } from '../../base/process/terminal.ts'
import { type Screen, screenOf } from '../../command/stdio.ts'
import { print } from '../terminal/print.ts'
import { wantsProgress } from '../terminal/progress.ts'
import { gatherStatus, type StatusData } from './gather.ts'
import { renderStatus } from './render.ts'

/**
 * Shows the status again and again until it is stopped or its reader is gone: on a terminal it redraws one
 * screen, elsewhere it prints a block for each change.
 */
export async function watchStatus(
  context: Pick<BareContext, 'signal' | 'json'>,
  intervalMs: number,
): Promise<void> {
  const onTerminal = await isTerminal(1)
  const redraws = !context.json && wantsProgress(onTerminal, process.env)
  const display = redraws ? redrawScreen(intervalMs) : printChanges(context.json, screenOf(1))
  while (!context.signal.aborted) {
    if (!display.show(await gatherStatus())) return
    await display.pause(intervalMs)
  }
}

interface StatusDisplay {
  /** Returns false if the reader is gone. */
  show(data: StatusData): boolean
  pause(ms: number): Promise<void>
}

function printChanges(json: boolean, screen: Screen): StatusDisplay {
  let last = ''
  return {
    show(data) {
      const fields = JSON.stringify(stableFields(data))
      if (fields === last) return true
      const isFirst = last === ''
      last = fields
      const { body, todo } = renderStatus(data, screen)
      const text = json ? visibleJson(data) : [...(isFirst ? [] : ['']), ...body, ...todo].join('\n')
      return print(`${text}\n`)
    },
    pause: after,
  }
}

/** The fields of a status that change only if something happens, as ages and sizes do not. */
export function stableFields(data: StatusData): unknown {
  const { home, root, workspaces, runs, sessions, orphans, hooks, without_hooks, findings } = data
  return {
    home,
    root,
    workspaces: workspaces.map(({ claims, waiters, ...target }) => ({
      ...target,
      claims: claims.map(({ age_ms: _age, expires_in_ms: _rest, ...claim }) => claim),
      waiters: waiters.map(({ waited_ms: _waited, ...waiter }) => waiter),
    })),
    runs: runs.map(({ path, liveness }) => [path, liveness]).sort(),
    sessions: [
      sessions.states,
      sessions.open.map(({ session_id, state, holder }) => [session_id, state, holder?.pid]),
    ],
    orphans: orphans.count,
    hooks,
    without_hooks,
    findings: findings.map(({ name, level }) => [name, level]),
  }
}

function redrawScreen(intervalMs: number): StatusDisplay {
  const screen = new AlternateScreen()
  let last: StatusData | undefined
  let wake = (): void => {}
  const draw = (data: StatusData): boolean => {
    const terminal = screenOf(1)
    const { paint } = terminal
    // The title takes a row.
    const { body, todo } = renderStatus(data, { ...terminal, rows: terminal.rows - 1 })
    const time = new Date(data.at).toTimeString().slice(0, 8)
    const title = paint.dim(`stint status at ${time}, every ${formatDuration(intervalMs)}; Ctrl-C ends it`)
    return screen.draw(fitRows([title, ...body], todo, process.stdout.rows || 24))
  }
  process.stdout.on('resize', () => last !== undefined && draw(last))
  // Ctrl-Z gives the screen back to the shell; after `fg` the status is drawn again at once.
  process.on('SIGTSTP', () => {
    screen.close()
    process.kill(process.pid, 'SIGSTOP')
  })
  process.on('SIGCONT', () => wake())
  return {
    show: (data) => draw((last = data)),
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
