import type { ErrorCode } from '../base/errors/error-table.ts'
import { errorCode, StintError } from '../base/errors/stint-error.ts'

/** The server did not answer in time. It may still carry out what it was asked. */
export class TimedOut extends Error {}

/** The server has carried out the change. Its synchronous standby may not have it, and may take over. */
export class NotReplicated extends Error {}

/** The five characters by which the server names an error, such as `42P01`; undefined for other errors. */
export function sqlState(error: unknown): string | undefined {
  const code = errorCode(pgError(error))
  // `EPIPE` has five characters as well, but no digit.
  return code !== undefined && /^(?=.*\d)[0-9A-Z]{5}$/.test(code) ? code : undefined
}

/** The error of `pg` behind a StintError; undefined for a StintError that has no cause. */
const pgError = (error: unknown): unknown => (error instanceof StintError ? error.cause : error)

export const isTimeout = (error: unknown): boolean => pgError(error) instanceof TimedOut

/** True if a concurrent statement was in the way: nothing was done, and a retry may succeed. */
export const isConflict = (error: unknown): boolean => ['40001', '40P01'].includes(sqlState(error) ?? '')

/** True if the server may have carried out the statement: no answer came, or the connection broke. */
export function isUncertain(error: unknown): boolean {
  const state = sqlState(error)
  if (isStatementPooling(pgError(error))) return false
  if (state === undefined) return !isProgramError(pgError(error))
  return state.startsWith('08') || state.startsWith('57P') || state === '57014'
}

/** PgBouncer in statement mode ends the connection of a client that begins a transaction. */
const isStatementPooling = (error: unknown): boolean =>
  error instanceof Error && error.message.includes('not allowed in statement pooling mode')

/** A bug in the program, which must not be reported as a problem of the server. */
const isProgramError = (error: unknown): boolean =>
  !(error instanceof Error) ||
  ['TypeError', 'RangeError', 'ReferenceError', 'SyntaxError'].includes(error.name)

interface Explanation {
  code: ErrorCode
  hint?: string
}

const grant = 'Grant the role what docs/postgres.md lists, or use another role.'
const credentials =
  'Check user and password: in the URL, in PGPASSWORD, or in the password file (PGPASSFILE).'
const standbyAway = 'Check that the synchronous standby is up and connected, then try again.'
const utf8 = 'Use a database with the encoding UTF8: this one cannot store every character.'

/** By SQL state, or by its class, which is the first two characters. */
const explanations: Readonly<Record<string, Explanation>> = {
  '08': { code: 'POSTGRES_UNAVAILABLE' },
  22021: { code: 'POSTGRES_SCHEMA', hint: utf8 },
  '22P05': { code: 'POSTGRES_SCHEMA', hint: utf8 },
  25006: { code: 'POSTGRES_READ_ONLY' },
  '28': { code: 'POSTGRES_DENIED', hint: credentials },
  '3D000': { code: 'POSTGRES_SCHEMA', hint: 'Create that database, or correct its name in the URL.' },
  '3F000': { code: 'POSTGRES_SCHEMA' },
  '42P01': { code: 'POSTGRES_SCHEMA' },
  42703: { code: 'POSTGRES_SCHEMA' },
  42501: { code: 'POSTGRES_DENIED', hint: grant },
  '53': { code: 'POSTGRES_UNAVAILABLE' },
  53100: { code: 'DISK_FULL', hint: 'Free some space on the server of the database, then try again.' },
  '55P03': { code: 'POSTGRES_UNAVAILABLE' },
  '57': { code: 'POSTGRES_UNAVAILABLE' },
  '58': { code: 'POSTGRES_UNAVAILABLE' },
}

/** Turns an error of `pg` into one that says what to do. It never contains a URL, nor a password. */
export function explainPostgres(error: unknown): unknown {
  if (isInvalidUrl(error)) return invalidUrl()
  if (error instanceof StintError || isProgramError(error)) return error
  if (isStatementPooling(error))
    return new StintError('POSTGRES_POOL_MODE', `the pooler refuses transactions: ${reason(error)}`, {
      cause: error,
    })
  const state = sqlState(error)
  if (state === undefined) return explainConnection(error)
  const explanation = explanations[state] ?? explanations[state.slice(0, 2)]
  if (explanation === undefined) return error
  return new StintError(explanation.code, `PostgreSQL says: ${reason(error)}`, {
    cause: error,
    detail: `sqlstate=${state}`,
    hint: explanation.hint,
  })
}

const isInvalidUrl = (error: unknown): boolean =>
  errorCode(error) === 'ERR_INVALID_URL' || (error instanceof Error && error.name === 'URIError')

/** Without its cause, which contains the whole URL. */
const invalidUrl = (): StintError =>
  new StintError('ARG_ERROR', 'the URL of the PostgreSQL server is invalid', {
    hint:
      'It looks like postgres://user@host:5432/database; ' +
      'in a password write @ as %40, / as %2F, : as %3A, % as %25.',
  })

/** An error without an SQL state is about the connection. */
function explainConnection(error: unknown): StintError {
  const errno = errorCode(error)
  const why = reason(error)
  const explain = (code: ErrorCode, message: string, hint?: string): StintError =>
    new StintError(code, message, { cause: error, detail: errno && `errno=${errno}`, hint })
  // `pg` reports it like this if the server asks for a password and there is none.
  if (why.startsWith('SASL'))
    return explain('POSTGRES_DENIED', `PostgreSQL requires a password: ${why}`, credentials)
  if (errno === 'EACCES' || errno === 'EPERM')
    return explain('POSTGRES_DENIED', `the connection to PostgreSQL is not permitted: ${why}`)
  if (error instanceof NotReplicated) return explain('POSTGRES_UNAVAILABLE', why, standbyAway)
  return explain('POSTGRES_UNAVAILABLE', `cannot reach PostgreSQL: ${why}`)
}

/** For a host with several addresses, Node reports an error without a message, with one error an address. */
function reason(error: unknown): string {
  const { message = '', errors } = error as { message?: string; errors?: readonly Error[] }
  return message || errors?.[0]?.message || errorCode(error) || 'no reason given'
}
