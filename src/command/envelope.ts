import { errorMessage, StintError } from '../base/errors/stint-error.ts'

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
  session_tmp_dir?: string
  session_pid_file?: string
  session_id?: string
  trace_id?: string
  /** The run was ended from outside: some of its work may be done. */
  partial?: true
}

/** How a run ended: with data, or with the one error that ended it. */
export type Outcome = { data: unknown } | { error: StintError }

export function buildEnvelope(outcome: Outcome, warnings: readonly string[], meta: EnvelopeMeta): Envelope {
  if ('error' in outcome) {
    const data = outcome.error.options.data ?? null
    return { ok: false, data, error: describeError(outcome.error), warnings: [...warnings], meta }
  }
  // `data` and `error` are never both null: a handler that returns nothing has an empty answer.
  return { ok: true, data: outcome.data ?? {}, error: null, warnings: [...warnings], meta }
}

function describeError({ code, message, retryable, hint, options }: StintError): EnvelopeError {
  return {
    code,
    message: message || code,
    retryable,
    ...(options.retryAfterMs === undefined ? {} : { retry_after_ms: options.retryAfterMs }),
    ...(options.detail === undefined ? {} : { detail: options.detail }),
    suggestion: hint,
    ...(options.phase === undefined ? {} : { phase: options.phase }),
    ...options.facts,
  }
}

/** Whatever was thrown, as an error with a code. */
export function asStintError(thrown: unknown): StintError {
  if (thrown instanceof StintError) return thrown
  return new StintError('UNEXPECTED', errorMessage(thrown) || 'the command failed without saying why', {
    cause: thrown,
    phase: 'execution',
  })
}

/** A handler's outcome as data: what it returns, or what it throws. */
export async function settle(run: () => unknown): Promise<Outcome> {
  try {
    return { data: await run() }
  } catch (error) {
    return { error: asStintError(error) }
  }
}
