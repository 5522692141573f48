import { systemClock } from '../primitives/clock.ts'
import { StintError } from '../primitives/stint-error.ts'
import { buildEnvelope, type EnvelopeMeta, type Outcome } from './envelope.ts'
import { writeOut } from './write-out.ts'

/** What a run says at its end: one envelope, or text for a person; once, whatever happens. */
export class Answer {
  json = false
  name: string
  readonly warnings: string[] = []
  readonly meta: EnvelopeMeta
  readonly #startedAt = systemClock.mono()
  given = false

  constructor(name: string, requestId: string) {
    this.name = name
    this.meta = { duration_ms: 0, request_id: requestId }
  }

  warn(message: string): void {
    this.warnings.push(message)
    if (!this.json) writeOut(2, `${this.name}: warning: ${message}\n`)
  }

  /** Prints, unless it has; returns the exit code. `text` is what a person reads. */
  give(outcome: Outcome, text?: string): number {
    if (!this.given) {
      this.given = true
      this.meta.duration_ms = Math.round(systemClock.mono() - this.#startedAt)
      const written = this.json ? this.#giveEnvelope(outcome) : this.#giveText(outcome, text)
      if (!written) return this.#diskFull()
    }
    return 'error' in outcome ? outcome.error.exit : 0
  }

  #giveEnvelope(outcome: Outcome): boolean {
    return writeOut(1, `${JSON.stringify(buildEnvelope(outcome, this.warnings, this.meta))}\n`)
  }

  #giveText(outcome: Outcome, text: string | undefined): boolean {
    if (!('error' in outcome))
      return text === undefined || writeOut(1, text.endsWith('\n') ? text : `${text}\n`)
    const { error } = outcome
    // A failed child has said itself what was wrong.
    if (error.code === 'CHILD_FAILED') return true
    writeOut(2, `${this.name}: ${error.message} (${error.code})\n  ${error.hint}\n`)
    if (process.env.STINT_DEBUG) writeOut(2, `${debugStack(error)}\n`)
    return true
  }

  #diskFull(): number {
    const error = new StintError('DISK_FULL', 'cannot write the answer to stdout: no space left')
    writeOut(2, `${this.name}: ${error.message} (${error.code})\n`)
    return error.exit
  }
}

function debugStack(error: StintError): string {
  const { cause } = error
  return (cause instanceof Error ? cause.stack : undefined) ?? error.stack ?? error.message
}
