import { once } from 'node:events'
import type { RunChild } from '../../command/context.ts'
import { type ErrorCode, errorTable } from '../../base/errors/error-table.ts'
import { StintError } from '../../base/errors/stint-error.ts'

/** A process that plays along: what it says, line by line, and how it ends. */
export class Player {
  readonly #child: RunChild
  /** When it has ended and all it said has been heard: `exited` comes before that. */
  readonly #closed: Promise<number | null>
  #heard = ''
  errors = ''

  constructor(child: RunChild) {
    this.#child = child
    this.#closed = new Promise((resolve) => child.process.once('close', resolve))
    child.process.stdout?.setEncoding('utf8').on('data', (text: string) => (this.#heard += text))
    child.process.stderr?.setEncoding('utf8').on('data', (text: string) => (this.errors += text))
    // One that has ended too early does not listen: its end is what is looked at.
    child.process.stdin?.on('error', () => {})
  }

  get pid(): number {
    return this.#child.pid
  }

  get lines(): string[] {
    return this.#heard.split('\n').slice(0, -1)
  }

  /** Waits for a line that begins like this, and gives the rest of it. */
  async hears(start: string): Promise<string> {
    for (let isOver = false; ;) {
      const line = this.lines.find((each) => each.startsWith(start))
      if (line !== undefined) return line.slice(start.length).trim()
      if (isOver) throw failureOf(`a player ended before it said "${start}"`, this.errors)
      isOver = await Promise.race([
        once(this.#child.process.stdout ?? process, 'data').then(() => false),
        this.#closed.then(() => true),
      ])
    }
  }

  say(line: string): void {
    this.#child.process.stdin?.write(`${line}\n`)
  }

  kill(): void {
    this.#child.process.kill('SIGKILL')
  }

  /** Its exit code, or null if it was killed. */
  async ended(): Promise<number | null> {
    return await this.#closed
  }
}

/** The demo shows what happens; if something else does, it says so. `player` may know why. */
export function assertShown(shown: boolean, what: string, player?: Player): asserts shown {
  if (!shown) throw failureOf(what, player?.errors ?? '')
}

/** What went wrong: that of which a player has said the code, such as a full disk, is no fault of the demo. */
export function failureOf(what: string, said: string): StintError {
  const [, message = '', code = ''] = /^stint[^:\n]*: (.*) \(([A-Z_]+)\)$/m.exec(said) ?? []
  if (Object.hasOwn(errorTable, code))
    return new StintError(code as ErrorCode, `the demo stopped: ${message}`)
  const full = said.split('\n').find((line) => line.includes('No space left on device'))
  if (full !== undefined) return new StintError('DISK_FULL', `the demo stopped: ${full.trim()}`)
  return new StintError(
    'UNEXPECTED',
    `the demo did not go as it should: ${[what, said.trim()].filter(Boolean).join(': ')}`,
  )
}
