import { systemClock } from '../base/process/clock.ts'
import { writeOut, columnsOf } from '../base/process/terminal.ts'
import { visibleAnswer, visibleJson, visibleLines } from '../base/text/escape.ts'
import { wrapLines } from '../base/text/wrap.ts'
import { errorMessage, StintError } from '../base/errors/stint-error.ts'
import type { BareContext } from './context.ts'

/** The one answer of a command in JSON mode; `schema/envelope.json` is its schema. */
export interface Envelope {
  ok: boolean
  data: unknown
  error: EnvelopeError | null
  warnings: string[]
  meta: EnvelopeMeta
}

export interface EnvelopeError {
  code: string
  message: string
  retryable: boolean
  retry_after_ms?: number
  detail?: string
  suggestion?: string
  phase?: 'validation' | 'execution' | 'cleanup'
  [fact: string]: unknown
}

export interface EnvelopeMeta {
  duration_ms: number
  request_id: string
  /** The scratch of the run; null before there is one, or if the command has none. */
  session_tmp_dir: string | null
  session_pid_file?: string
  session_id?: string
  trace_id?: string
  /** The run was stopped from outside: some of its work may be done. */
  partial?: true
}

/** How a handler ended: with data, or with the one error that ended it. */
export type Outcome = { data: unknown } | { error: StintError }

/** Runs a handler and returns how it ended; never rejects. */
export async function outcomeOf(run: () => unknown): Promise<Outcome> {
  try {
    return { data: await run() }
  } catch (error) {
    return { error: asStintError(error) }
  }
}

/** Gives whatever was thrown a code. */
export function asStintError(thrown: unknown): StintError {
  if (thrown instanceof StintError) return thrown
  return new StintError('UNEXPECTED', errorMessage(thrown) || 'the command failed without saying why', {
    cause: thrown,
    phase: 'execution',
  })
}

/** The final answer of a command: one envelope, or text for a person. It is given once, whatever happens. */
export class Reply {
  json = false
  quiet = false
  verbose = false
  /** The command as the user called it; every line for a person starts with it. */
  name: string
  isGiven = false
  readonly meta: EnvelopeMeta
  readonly #warnings: string[] = []
  readonly #startedAt = systemClock.mono()
  /** The methods of a handler's context that print before the answer. */
  readonly printers: Pick<BareContext, 'warn' | 'say' | 'note'> = {
    warn: (message) => this.warn(message),
    say: (text) => {
      if (!this.json && !this.quiet) writeOut(1, answerText(text))
    },
    note: (message) => this.note(message),
  }

  constructor(name: string, requestId: string) {
    this.name = name
    this.meta = { duration_ms: 0, request_id: requestId, session_tmp_dir: null }
    if (process.env.STINT_TRACE_ID) this.meta.trace_id = process.env.STINT_TRACE_ID
  }

  warn(message: string): void {
    // Plain JavaScript callers may pass an Error; the envelope takes strings only.
    this.#warnings.push(errorMessage(message))
    if (!this.json && !this.quiet) this.#tell(`warning: ${errorMessage(message)}`)
  }

  note(message: string): void {
    if (this.verbose) this.#tell(`${this.#elapsedMs()} ms: ${errorMessage(message)}`)
  }

  /**
   * Prints an error, a warning or a note. These quote names and texts of others, such as the purpose of
   * another session, which must not control the terminal. A terminal would break long lines within words.
   */
  #tell(text: string): void {
    const line = `${this.name}: ${visibleLines(text)}`
    writeOut(2, `${wrapLines(line, columnsOf(2) ?? Number.POSITIVE_INFINITY)}\n`)
  }

  /** Prints the answer, once, and returns the exit code. `render` makes the answer for a person. */
  give(outcome: Outcome, render?: (data: unknown) => string | undefined): number {
    if (this.isGiven) return exitCodeOfOutcome(outcome)
    const isForPerson = !this.json && !this.quiet && !('error' in outcome)
    const text = isForPerson ? render?.(outcome.data) : undefined
    this.isGiven = true
    this.meta.duration_ms = this.#elapsedMs()
    const printed = this.json ? asWritable(outcome) : outcome
    const isWritten = this.json ? this.#printEnvelope(printed) : this.#printText(printed, text)
    if (!isWritten) return this.#reportFullDisk()
    this.note(`done, exit ${exitCodeOfOutcome(printed)}`)
    return exitCodeOfOutcome(printed)
  }

  #elapsedMs(): number {
    return Math.round(systemClock.mono() - this.#startedAt)
  }

  #printEnvelope(outcome: Outcome): boolean {
    return writeOut(1, `${visibleJson(buildEnvelope(outcome, this.#warnings, this.meta))}\n`)
  }

  #printText(outcome: Outcome, text: string | undefined): boolean {
    if (!('error' in outcome)) return text === undefined || writeOut(1, answerText(text))
    const { error } = outcome
    // The program that failed has said itself why.
    if (error.code === 'CHILD_FAILED') return true
    this.#tell(`${error.message} (${error.code})${error.hint === '' ? '' : `\n  ${error.hint}`}`)
    if (error.options.detail !== undefined) this.note(error.options.detail)
    if (process.env.STINT_DEBUG) writeOut(2, `${visibleLines(stackOf(error))}\n`)
    return true
  }

  #reportFullDisk(): number {
    const error = new StintError('DISK_FULL', 'cannot write the answer to stdout: no space left')
    this.#tell(`${error.message} (${error.code})`)
    return error.exit
  }
}

const answerText = (text: string): string => visibleAnswer(text.endsWith('\n') ? text : `${text}\n`)

const exitCodeOfOutcome = (outcome: Outcome): number => ('error' in outcome ? outcome.error.exit : 0)

function buildEnvelope(outcome: Outcome, warnings: string[], meta: EnvelopeMeta): Envelope {
  // `data` and `error` are never both null: a handler that returns nothing has an empty object as its answer.
  if (!('error' in outcome)) return { ok: true, data: outcome.data ?? {}, error: null, warnings, meta }
  const { code, message, retryable, hint, options } = outcome.error
  const error: EnvelopeError = {
    code,
    message: message || code,
    retryable,
    ...(options.retryAfterMs === undefined ? {} : { retry_after_ms: options.retryAfterMs }),
    ...(options.detail === undefined ? {} : { detail: options.detail }),
    ...(hint === '' ? {} : { suggestion: hint }),
    ...(options.phase === undefined ? {} : { phase: options.phase }),
    ...options.facts,
  }
  return { ok: false, data: options.data ?? null, error, warnings, meta }
}

/** Makes an outcome that JSON can express: data with a BigInt or a cycle becomes an error. */
function asWritable(outcome: Outcome): Outcome {
  try {
    const { data, facts } =
      'error' in outcome ? outcome.error.options : { data: outcome.data, facts: undefined }
    const json = JSON.stringify(data)
    JSON.stringify(facts)
    // JSON has no functions and no NaN: the answer is empty, as if the handler had returned nothing.
    return 'error' in outcome || (json !== undefined && json !== 'null') ? outcome : { data: {} }
  } catch (error) {
    const message = `the answer cannot be written as JSON: ${errorMessage(error)}`
    return { error: new StintError('UNEXPECTED', message, { cause: error }) }
  }
}

function stackOf(error: StintError): string {
  const { cause } = error
  return (cause instanceof Error ? cause.stack : undefined) ?? error.stack ?? error.message
}
