import { isUtf8 } from 'node:buffer'
import { closeSync, constants, fstatSync, lstatSync, openSync, readSync, type Stats } from 'node:fs'
import { isAbsolute } from 'node:path'
import type { ErrorCode } from '../base/errors/error-table.ts'
import { codedError, errorCode, StintError } from '../base/errors/stint-error.ts'
import { safeOpenFlags } from '../base/fs/regular-file.ts'
import { geteuid } from '../base/process/platform.ts'

const kinds = ['env', 'file'] as const

/** Where to find a secret. A session stores this reference, never the value. */
export interface SecretRef {
  kind: (typeof kinds)[number]
  /** The name of the variable, or the absolute path of the file. */
  name: string
}

/** The size of the largest secret in bytes. No key or token is longer; a larger file was named by mistake. */
export const maxSecretBytes = 64 << 10

const maxNameLength = 4096
// oxlint-disable-next-line no-control-regex -- a name is printed, and must not control a terminal
const unprintable = /[\u0000-\u001f\u007f-\u009f\u2028\u2029]/
const missingFileErrors = new Set(['ENOENT', 'ENOTDIR', 'ENAMETOOLONG'])

/** Formats a reference as `env:NAME` or `file:/path`. */
export const formatSecretRef = ({ kind, name }: SecretRef): string => `${kind}:${name}`

/** Validates a reference from a file or from plain JavaScript; throws `NAME_INVALID`. */
export function checkSecretRef(value: unknown): SecretRef {
  const { kind, name } = Object(value) as Record<keyof SecretRef, unknown>
  const knownKind = kinds.find((name) => name === kind)
  // The message does not quote the value: a caller may have passed the secret itself by mistake.
  if (knownKind === undefined) throw invalid('is not env:NAME or file:/path')
  if (typeof name !== 'string' || name === '' || name.length > maxNameLength || unprintable.test(name)) {
    throw invalid('has no usable name')
  }
  if (knownKind === 'env' && name.includes('=')) throw invalid('names a variable with "=" in it')
  // A relative path would name a different file if the session is resumed in another directory.
  if (knownKind === 'file' && !isAbsolute(name)) throw invalid('names a file by a relative path')
  return { kind: knownKind, name }
}

/**
 * Returns the value behind a reference. A file must be a regular file of this user with no access for anyone
 * else; one newline at its end is not part of the value. Errors name the reference, never the value.
 *
 * @example
 * resolveSecret({ kind: 'env', name: 'GITHUB_TOKEN' })
 */
export function resolveSecret(ref: SecretRef, env: NodeJS.ProcessEnv = process.env): string {
  const { kind, name } = checkSecretRef(ref)
  const value = kind === 'env' ? env[name] : readSecretFile(ref).replace(/\r?\n$/, '')
  if (value) return value
  throw unresolved(
    'SECRET_MISSING',
    ref,
    kind === 'env' ? 'that variable is not set, or is empty' : 'it is empty',
  )
}

function readSecretFile(ref: SecretRef): string {
  try {
    checkFile(ref, lstatSync(ref.name))
    // A link or a FIFO may have replaced the file since the lstat: open without following or blocking.
    const fd = openSync(ref.name, constants.O_RDONLY | safeOpenFlags)
    try {
      const stat = fstatSync(fd)
      checkFile(ref, stat)
      const bytes = Buffer.allocUnsafe(stat.size)
      const content = bytes.subarray(0, readSync(fd, bytes, 0, bytes.length, 0))
      if (isUtf8(content)) return content.toString()
      throw unresolved('SECRET_UNSUPPORTED', ref, 'it is not UTF-8 text')
    } finally {
      closeSync(fd)
    }
  } catch (error) {
    const errno = errorCode(error)
    if (errno === undefined || error instanceof StintError) throw error
    if (missingFileErrors.has(errno)) throw unresolved('SECRET_MISSING', ref, 'there is no such file')
    // A link replaced the file between lstat and open.
    if (errno === 'ELOOP') throw unresolved('SECRET_UNSAFE', ref, 'it is not a regular file')
    const coded = codedError(error, `read ${formatSecretRef(ref)}`, 'Make it a file you may read.')
    throw coded instanceof StintError
      ? coded
      : unresolved('SECRET_UNSUPPORTED', ref, `it cannot be read: ${errno}`)
  }
}

function checkFile(ref: SecretRef, stat: Stats): void {
  const unsafe = (why: string): StintError => unresolved('SECRET_UNSAFE', ref, why)
  if (!stat.isFile()) throw unsafe('it is not a regular file')
  if (stat.uid !== geteuid()) throw unsafe('it belongs to another user')
  // Windows has no such modes and reports every file as open to all.
  if (process.platform !== 'win32' && (stat.mode & 0o077) !== 0)
    throw unsafe(`other users may access it (mode ${(stat.mode & 0o777).toString(8)})`)
  if (stat.size > maxSecretBytes)
    throw unresolved('SECRET_UNSUPPORTED', ref, `it is larger than ${maxSecretBytes} bytes`)
}

const invalid = (problem: string): StintError =>
  new StintError('NAME_INVALID', `the reference to a secret ${problem}`, {
    hint: 'Write env:NAME for a variable, file:/absolute/path for a file.',
  })

const unresolved = (code: ErrorCode, ref: SecretRef, why: string): StintError =>
  new StintError(code, `cannot resolve ${formatSecretRef(ref)}: ${why}`)
