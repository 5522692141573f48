import { once } from 'node:events'
import { isErrorCode } from '../../base/errors/error-table.ts'
import { StintError } from '../../base/errors/stint-error.ts'
import type { RunChild } from '../../command/context.ts'

/** A process of the demo: the lines it prints, and how it ends. */
export class DemoProcess {
  readonly #child: RunChild
  /** Resolves when the process has ended and its output is read to the end; `exited` may come before that. */
  readonly #closed: Promise<number | null>
  #output = ''
  stderr = ''

  constructor(child: RunChild) {
    this.#child = child
    this.#closed = new Promise((resolve) => child.process.once('close', resolve))
    child.process.stdout?.setEncoding('utf8').on('data', (text: string) => (this.#output += text))
    child.process.stderr?.setEncoding('utf8').on('data', (text: string) => (this.stderr += text))
    // A process that has ended too early does not read: the demo looks at its end instead.
    child.process.stdin?.on('error', () => {})
  }

  get pid(): number {
    return this.#child.pid
  }

  get lines(): string[] {
    return this.#output.split('\n').slice(0, -1)
  }

  /** Waits for a line that starts with `prefix`, and returns the rest of it. */
  async waitForLine(prefix: string): Promise<string> {
    for (let isOver = false; ;) {
      const line = this.lines.find((each) => each.startsWith(prefix))
      if (line !== undefined) return line.slice(prefix.length).trim()
      if (isOver) throw demoError(`a process ended before it printed "${prefix}"`, this.stderr)
      isOver = await Promise.race([
        once(this.#child.process.stdout ?? process, 'data').then(() => false),
        this.#closed.then(() => true),
      ])
    }
  }

  write(line: string): void {
    this.#child.process.stdin?.write(`${line}\n`)
  }

  kill(): void {
    this.#child.process.kill('SIGKILL')
  }

  /** Resolves with the exit code, or with null if a signal ended the process. */
  async ended(): Promise<number | null> {
    return await this.#closed
  }
}

/** Throws if the demo does not show what it claims. The error may quote what `process` printed. */
export function assertShown(shown: boolean, claim: string, process?: DemoProcess): asserts shown {
  if (!shown) throw demoError(claim, process?.stderr ?? '')
}

/** The error of a failed demo. A code that a process printed, such as that of a full disk, is taken over. */
export function demoError(claim: string, stderr: string): StintError {
  const [, message = '', code = ''] = /^stint[^:\n]*: (.*) \(([A-Z_]+)\)$/m.exec(stderr) ?? []
  if (isErrorCode(code)) return new StintError(code, `the demo stopped: ${message}`)
  const full = stderr.split('\n').find((line) => line.includes('No space left on device'))
  if (full !== undefined) return new StintError('DISK_FULL', `the demo stopped: ${full.trim()}`)
  return new StintError('UNEXPECTED', ['the demo failed', claim, stderr.trim()].filter(Boolean).join(': '))
}
