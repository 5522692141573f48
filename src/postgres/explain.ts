import type { ErrorCode } from '../base/errors/error-table.ts'
import { errorCode, StintError } from '../base/errors/stint-error.ts'

/** The five characters by which SQL names an error (`42P01`); undefined if it did not come from the server. */
export function sqlStateOf(error: unknown): string | undefined {
  const code = errorCode(error)
  // `EPIPE` has five, too, but no digit.
  return code !== undefined && /^(?=.*\d)[0-9A-Z]{5}$/.test(code) ? code : undefined
}

interface Explanation {
  code: ErrorCode
  hint?: string
}

const grant = 'Grant the role what docs/postgres.md lists, or use another role.'
const check = 'Check user and password: in the URL, in PGPASSWORD, or in the password file (PGPASSFILE).'

const utf8 = 'Use a database whose encoding is UTF8: not every text fits into this one.'

/** By SQL state, or by its class: the first two characters. */
const explanations: Readonly<Record<string, Explanation>> = {
  '08': { code: 'POSTGRES_UNAVAILABLE' },
  22021: { code: 'POSTGRES_SCHEMA', hint: utf8 },
  '22P05': { code: 'POSTGRES_SCHEMA', hint: utf8 },
  25006: { code: 'POSTGRES_READ_ONLY' },
  '28': { code: 'POSTGRES_DENIED', hint: check },
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

/**
 * Turns what `pg` throws into an error that says what to do. The server's own words are kept, nothing of how we came to it: a message of ours
 * never has a password in it.
 */
export function explainPostgres(error: unknown): unknown {
  if (isBadUrl(error)) return badUrl()
  if (error instanceof StintError || isMistake(error)) return error
  const state = sqlStateOf(error)
  if (state === undefined) return explainConnection(error)
  const explanation = explanations[state] ?? explanations[state.slice(0, 2)]
  if (explanation === undefined) return error
  return new StintError(explanation.code, `PostgreSQL says: ${wordsOf(error)}`, {
    cause: error,
    detail: `sqlstate=${state}`,
    hint: explanation.hint,
  })
}

const isBadUrl = (error: unknown): boolean =>
  errorCode(error) === 'ERR_INVALID_URL' || (error instanceof Error && error.name === 'URIError')

/** Without its cause, which repeats the whole URL. */
const badUrl = (): StintError =>
  new StintError('ARG_ERROR', 'the URL of the PostgreSQL server cannot be read', {
    hint: 'It looks like postgres://user@host:5432/database; in a password write @ as %40, / as %2F, : as %3A, % as %25.',
  })

/** Of the program, not of the world. */
const isMistake = (error: unknown): boolean =>
  !(error instanceof Error) ||
  ['TypeError', 'RangeError', 'ReferenceError', 'SyntaxError'].includes(error.name)

/** What does not come from the server is about the way to it. */
function explainConnection(error: unknown): StintError {
  const errno = errorCode(error)
  const detail = errno === undefined ? undefined : `errno=${errno}`
  const words = wordsOf(error)
  // So `pg` says that the server wants a password, and it has none.
  if (words.startsWith('SASL'))
    return new StintError('POSTGRES_DENIED', `PostgreSQL wants a password: ${words}`, {
      cause: error,
      hint: check,
    })
  if (errno === 'EACCES' || errno === 'EPERM')
    return new StintError('POSTGRES_DENIED', `the connection to PostgreSQL cannot be used: ${words}`, {
      cause: error,
      detail,
    })
  return new StintError('POSTGRES_UNAVAILABLE', `cannot reach PostgreSQL: ${words}`, { cause: error, detail })
}

/** Where a name has several addresses, each failed in its own way, and the whole says nothing. */
function wordsOf(error: unknown): string {
  const { message = '', errors } = error as { message?: string; errors?: readonly Error[] }
  return message || errors?.[0]?.message || errorCode(error) || 'no reason given'
}

/** What `pg` has thrown, behind our words for it. Undefined for an error of ours that has no cause: that is a decision, not a mishap. */
export const causeOf = (error: unknown): unknown => (error instanceof StintError ? error.cause : error)

/** May the same statement, tried again, succeed? Nothing of it has been done. */
export const isConflict = (error: unknown): boolean => ['40001', '40P01'].includes(sqlStateOf(error) ?? '')

/** Was the connection lost, so that nobody knows whether the statement was carried out? */
export function isUncertain(error: unknown): boolean {
  const state = sqlStateOf(error)
  if (state === undefined) return !isMistake(error)
  return state.startsWith('08') || state.startsWith('57P') || state === '57014'
}
