import { deliver } from '../../base/process/write-output.ts'

/** Another screen, without its cursor, on which a line that is too long is cut and not wrapped. */
const lend = '\x1b[?1049h\x1b[?25l\x1b[?7l'
const giveBack = '\x1b[?7h\x1b[?25h\x1b[?1049l'

/** The terminal's other screen, lent for as long as something is drawn over itself; however the process ends, it is given back. */
export class Screen {
  #isLent = false

  constructor() {
    process.on('exit', () => this.close())
  }

  /** False if nobody looks at it any more. */
  draw(lines: readonly string[]): boolean {
    const before = this.#isLent ? '' : lend
    this.#isLent = true
    return (
      deliver(1, `${before}\x1b[H${lines.map((line) => `${line}\x1b[K`).join('\r\n')}\x1b[J`) === 'written'
    )
  }

  close(): void {
    if (this.#isLent) deliver(1, giveBack)
    this.#isLent = false
  }
}

/** As many lines as there is room for: what is to be done stays, of the rest the beginning. */
export function fit(body: readonly string[], todo: readonly string[], rows: number): string[] {
  const room = rows - todo.length
  if (body.length <= room) return [...body, ...todo]
  return [...body.slice(0, Math.max(0, room - 1)), '…', ...todo].slice(0, rows)
}
