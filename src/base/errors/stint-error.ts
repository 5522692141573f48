import { type ErrorCode, errorEntry, type OwnErrorCode } from './error-table.ts'

export interface StintErrorOptions {
  cause?: unknown
  /** One line of machine-readable facts, `key=value key=value`. */
  detail?: string
  /** What the user can do about it. Replaces the table's hint; an own code has none without it. */
  hint?: string
  /** The exit code, from 1 to 255, in place of the table's; an own code has 1 without it. */
  exit?: number
  /** True only if the identical call may succeed later and nothing has happened yet. Replaces the table's. */
  retryable?: boolean
  retryAfterMs?: number
  phase?: 'validation' | 'execution' | 'cleanup'
  /** Additional fields of the envelope's `error`, such as `exit_code` or `signal`. */
  facts?: Readonly<Record<string, unknown>>
  /** The envelope's `data` of a partial failure: what was done in spite of it. */
  data?: unknown
}

const brand = Symbol.for('stint.error')

/**
 * An expected failure with a stable `code`, a hint for the user and an exit code: one of stint's, which
 * `errorTable` lists, or one of your own.
 *
 * @example
 * throw new StintError('NOT_FOUND', `no such target: ${name}`, { hint: 'Targets are app, lib and docs.' })
 * throw new StintError('NO_FILES', 'nothing to pack', { exit: 4, hint: 'Name a directory with files.' })
 */
export class StintError extends Error {
  /** Compares a brand: each bundle, and each version of the package, has its own copy of this class. */
  static override [Symbol.hasInstance](value: unknown): boolean {
    return typeof value === 'object' && value !== null && brand in value
  }

  readonly [brand] = true
  readonly code: ErrorCode | OwnErrorCode
  readonly exit: number
  readonly retryable: boolean
  readonly hint: string
  readonly options: StintErrorOptions

  constructor(code: ErrorCode | OwnErrorCode, message: string, options: StintErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause })
    const { code: checked, entry } = errorEntry(code)
    this.name = 'StintError'
    this.code = checked
    this.exit = isExitCode(options.exit) ? options.exit : entry.exit
    this.retryable = options.retryable ?? entry.retryable
    this.hint = options.hint ?? entry.hint
    this.options = options
  }
}

/** Can a failed process exit with this? 0 would report success. */
const isExitCode = (exit: number | undefined): exit is number =>
  exit !== undefined && Number.isInteger(exit) && exit >= 1 && exit <= 255

const codeOfErrno: Readonly<Record<string, ErrorCode>> = {
  ENOSPC: 'DISK_FULL',
  EDQUOT: 'DISK_FULL',
  EFBIG: 'FILE_TOO_LARGE',
  EIO: 'DISK_FAILED',
  EROFS: 'READ_ONLY',
  EACCES: 'PERMISSION_DENIED',
  EPERM: 'PERMISSION_DENIED',
  EMFILE: 'TOO_MANY_FILES',
  ENFILE: 'TOO_MANY_FILES',
}

/** An error's `code`, such as `ENOENT` or `NOT_FOUND`; undefined if it has none. */
export function errorCode(error: unknown): string | undefined {
  // Not `instanceof Error`: where a test runner replaces the globals, Node's own errors are of another class.
  const code = (error as { code?: unknown } | null | undefined)?.code
  return typeof code === 'string' ? code : undefined
}

/**
 * Converts the error of a failed system call to a coded error that a user can act on; any other error passes
 * unchanged. `doing` completes the sentence "cannot …". `hint` replaces the table's hint, unless the error is
 * retryable: then a resource has run out, and the path is not at fault.
 */
export function codedError(error: unknown, doing: string, hint?: string): unknown {
  const errno = errorCode(error)
  const code = errno === undefined ? undefined : codeOfErrno[errno]
  if (errno === undefined || code === undefined) return error
  // Of a link or a rename, `path` is the target or the old name, and `dest` is what was to be made.
  const { syscall, path, dest = path } = error as NodeJS.ErrnoException & { dest?: string }
  const where = syscall === undefined || dest === undefined ? '' : ` call=${syscall} path=${dest}`
  return new StintError(code, `cannot ${doing}: ${errno}`, {
    cause: error,
    detail: `errno=${errno}${where}`,
    hint: errorEntry(code).entry.retryable ? undefined : hint,
  })
}

/** The error for a caller that has done something before it: the identical call would do that again. */
export function notRetryable(error: unknown): unknown {
  if (!(error instanceof StintError) || !error.retryable) return error
  return new StintError(error.code, error.message, { ...error.options, cause: error, retryable: false })
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
