import { type ErrorCode, type ErrorEntry, errorTable } from './error-table.ts'

export interface StintErrorOptions {
  cause?: unknown
  /** One line of machine-readable facts, `key=value key=value`. */
  detail?: string
  /** Replaces the table's hint where the place that throws knows better. */
  hint?: string
  /** Replaces the table's exit code (a child's own code, 128 + n for a signal). */
  exit?: number
  retryAfterMs?: number
  phase?: 'validation' | 'execution' | 'cleanup'
  /** More fields of the envelope's `error`, such as `exit_code` or `signal`. */
  facts?: Readonly<Record<string, unknown>>
  /** What was done all the same: a partial failure has an answer too. */
  data?: unknown
}

const brand = Symbol.for('stint.error')

/**
 * An expected failure: a stable `code`, what to do about it, and the exit code it gives.
 *
 * @example
 * throw new StintError('NOT_FOUND', `no such target: ${name}`, { hint: 'Targets are app, lib and docs.' })
 */
export class StintError extends Error {
  /** By its brand: the command line's files, and two versions of the package, each have a class of their own. */
  static override [Symbol.hasInstance](value: unknown): boolean {
    return typeof value === 'object' && value !== null && brand in value
  }

  readonly [brand] = true
  readonly code: ErrorCode
  readonly exit: number
  readonly retryable: boolean
  readonly hint: string
  readonly options: StintErrorOptions

  constructor(code: ErrorCode, message: string, options: StintErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause })
    // A tool in plain JavaScript may bring a code of its own.
    const entry: ErrorEntry = errorTable[code] ?? errorTable.UNEXPECTED
    this.name = 'StintError'
    this.code = code
    this.exit = options.exit ?? entry.exit
    this.retryable = entry.retryable
    this.hint = options.hint ?? entry.hint
    this.options = options
  }
}

const codeOfErrno: Readonly<Record<string, ErrorCode>> = {
  ENOSPC: 'DISK_FULL',
  EDQUOT: 'DISK_FULL',
  EIO: 'DISK_FAILED',
  EROFS: 'READ_ONLY',
  EACCES: 'PERMISSION_DENIED',
  EPERM: 'PERMISSION_DENIED',
  EMFILE: 'TOO_MANY_FILES',
  ENFILE: 'TOO_MANY_FILES',
}

/** The `errno` name of a failed system call, or undefined for any other error. */
export function errorCode(error: unknown): string | undefined {
  // Not by its class: where a test runner gives each file globals of its own, an error of Node's is no `Error` of ours.
  const code = (error as { code?: unknown } | null | undefined)?.code
  return typeof code === 'string' ? code : undefined
}

/**
 * Turns a failed system call into the coded error a user can act on; anything else passes unchanged.
 * `doing` completes the sentence "cannot …"; `hint` is what to do if the place is at fault, and not that something has run out.
 */
export function codedError(error: unknown, doing: string, hint?: string): unknown {
  const errno = errorCode(error)
  const code = errno === undefined ? undefined : codeOfErrno[errno]
  if (errno === undefined || code === undefined) return error
  return new StintError(code, `cannot ${doing}: ${errno}`, {
    cause: error,
    detail: `errno=${errno}`,
    hint: errorTable[code].retryable ? undefined : hint,
  })
}

/** The message of a thrown value. Never throws, whatever the value is. */
export function errorMessage(value: unknown): string {
  try {
    return value instanceof Error ? String(value.message) : String(value)
  } catch {
    // An object without a prototype, or one whose toString throws.
    return 'something that cannot be written as text'
  }
}
