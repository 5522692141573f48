import { systemClock } from '../base/process/clock.ts'
import { errorMessage, StintError } from '../base/errors/stint-error.ts'
import type { BareContext } from './context.ts'
import { buildEnvelope, type EnvelopeMeta, type Outcome } from './envelope.ts'
import { writeOut } from '../base/process/write-output.ts'

/** What a run says at its end: one envelope, or text for a person; once, whatever happens. */
export class Reply {
  json = false
  name: string
  readonly warnings: string[] = []
  readonly meta: EnvelopeMeta
  readonly #startedAt = systemClock.mono()
  given = false
  quiet = false
  verbose = false
  /** What a handler can say before its answer. */
  readonly voice: Pick<BareContext, 'warn' | 'say' | 'note'> = {
    warn: (message) => this.warn(message),
    say: (text) => this.#say(text),
    note: (message) => this.note(message),
  }

  constructor(name: string, requestId: string) {
    this.name = name
    this.meta = { duration_ms: 0, request_id: requestId }
    if (process.env.STINT_TRACE_ID) this.meta.trace_id = process.env.STINT_TRACE_ID
  }

  warn(message: string): void {
    // A handler in plain JavaScript may hand us an Error: the envelope takes text.
    this.warnings.push(errorMessage(message))
    if (!this.json && !this.quiet) writeOut(2, `${this.name}: warning: ${errorMessage(message)}\n`)
  }

  #say(text: string): void {
    if (!this.json && !this.quiet) writeOut(1, text.endsWith('\n') ? text : `${text}\n`)
  }

  note(message: string): void {
    if (this.verbose) writeOut(2, `${this.name}: ${this.#elapsedMs()} ms: ${errorMessage(message)}\n`)
  }

  /** Prints, unless it has; returns the exit code. `text` is what a person reads. */
  give(outcome: Outcome, text?: string): number {
    if (!this.given) {
      this.given = true
      this.meta.duration_ms = this.#elapsedMs()
      const told = this.json ? writable(outcome) : outcome
      const written = this.json ? this.#giveEnvelope(told) : this.#giveText(told, text)
      if (!written) return this.#diskFull()
      this.note(`done, exit ${exitOf(told)}`)
      return exitOf(told)
    }
    return exitOf(outcome)
  }

  #elapsedMs(): number {
    return Math.round(systemClock.mono() - this.#startedAt)
  }

  #giveEnvelope(outcome: Outcome): boolean {
    return writeOut(1, `${JSON.stringify(buildEnvelope(outcome, this.warnings, this.meta))}\n`)
  }

  #giveText(outcome: Outcome, text: string | undefined): boolean {
    if (!('error' in outcome))
      return text === undefined || this.quiet || writeOut(1, text.endsWith('\n') ? text : `${text}\n`)
    const { error } = outcome
    // A failed child has said itself what was wrong.
    if (error.code === 'CHILD_FAILED') return true
    writeOut(2, `${this.name}: ${error.message} (${error.code})\n  ${error.hint}\n`)
    if (error.options.detail !== undefined) this.note(error.options.detail)
    if (process.env.STINT_DEBUG) writeOut(2, `${debugStack(error)}\n`)
    return true
  }

  #diskFull(): number {
    const error = new StintError('DISK_FULL', 'cannot write the answer to stdout: no space left')
    writeOut(2, `${this.name}: ${error.message} (${error.code})\n`)
    return error.exit
  }
}

const exitOf = (outcome: Outcome): number => ('error' in outcome ? outcome.error.exit : 0)

/** What cannot be written as JSON (a BigInt, a cycle) is an error of the command: it still gets its envelope. */
function writable(outcome: Outcome): Outcome {
  try {
    const { data, facts } =
      'error' in outcome ? outcome.error.options : { data: outcome.data, facts: undefined }
    const json = JSON.stringify(data)
    JSON.stringify(facts)
    // A function or NaN is nothing in JSON: an empty answer, as for a handler that returns nothing.
    return 'error' in outcome || (json !== undefined && json !== 'null') ? outcome : { data: {} }
  } catch (error) {
    return {
      error: new StintError('UNEXPECTED', `the answer cannot be written as JSON: ${errorMessage(error)}`, {
        cause: error,
      }),
    }
  }
}

function debugStack(error: StintError): string {
  const { cause } = error
  return (cause instanceof Error ? cause.stack : undefined) ?? error.stack ?? error.message
}
