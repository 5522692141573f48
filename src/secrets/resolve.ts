import { closeSync, constants, fstatSync, lstatSync, openSync, readSync, type Stats } from 'node:fs'
import { careful } from '../base/fs/open-regular.ts'
import { codedError, errorCode, StintError } from '../base/errors/stint-error.ts'
import { geteuid } from '../base/process/user.ts'
import { checkSecretRef, formatSecretRef, type SecretRef } from './reference.ts'

/** More than any key or token has; a larger file was named by mistake. */
export const maxSecretBytes = 64 << 10

const noSuchFile = new Set(['ENOENT', 'ENOTDIR', 'ENAMETOOLONG'])

/**
 * The value a reference stands for. A file must be a regular one, ours, and closed to everybody else; one newline at
 * its end is not part of the value. Errors name the reference, never the value.
 *
 * @example
 * resolveSecret({ kind: 'env', name: 'GITHUB_TOKEN' })
 */
export function resolveSecret(ref: SecretRef, env: NodeJS.ProcessEnv = process.env): string {
  const { kind, name } = checkSecretRef(ref)
  if (kind === 'env') return env[name] || missing(ref, 'that variable is not set, or is empty')
  if (kind === 'file') return withoutLastNewline(readSecretFile(ref)) || missing(ref, 'that file is empty')
  throw unsupported(ref, 'key rings cannot be read here')
}

function readSecretFile(ref: SecretRef): string {
  try {
    const seen = lstatSync(ref.name)
    checkFile(ref, seen)
    // It may have become a link or a FIFO since we looked.
    const fd = openSync(ref.name, constants.O_RDONLY | careful)
    try {
      const opened = fstatSync(fd)
      checkFile(ref, opened)
      const bytes = Buffer.allocUnsafe(opened.size)
      return decode(ref, bytes.subarray(0, readSync(fd, bytes, 0, bytes.length, 0)))
    } finally {
      closeSync(fd)
    }
  } catch (error) {
    const errno = errorCode(error)
    if (errno === undefined || error instanceof StintError) throw error
    if (noSuchFile.has(errno)) return missing(ref, 'there is no such file')
    // A link took its place between the two looks.
    if (errno === 'ELOOP') throw unsafe(ref, 'it is not a regular file')
    const coded = codedError(error, `read ${formatSecretRef(ref)}`, 'Make it a file you may read.')
    throw coded instanceof StintError ? coded : unsupported(ref, `it cannot be read: ${errno}`)
  }
}

function checkFile(ref: SecretRef, stat: Stats): void {
  if (!stat.isFile()) throw unsafe(ref, 'it is not a regular file')
  if (stat.uid !== geteuid()) throw unsafe(ref, 'it belongs to another user')
  // Windows has no such modes and reports every file as open to all.
  if (process.platform !== 'win32' && (stat.mode & 0o077) !== 0) {
    throw unsafe(ref, `others may use it (mode ${(stat.mode & 0o777).toString(8)})`)
  }
  if (stat.size > maxSecretBytes) throw unsupported(ref, `it has over ${maxSecretBytes} bytes`)
}

function decode(ref: SecretRef, bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch {
    // No cause: nothing of what is in it may reach an error.
    throw unsupported(ref, 'it is not UTF-8 text')
  }
}

const withoutLastNewline = (text: string): string => text.replace(/\r?\n$/, '')

function missing(ref: SecretRef, why: string): never {
  throw new StintError('SECRET_MISSING', `cannot resolve ${formatSecretRef(ref)}: ${why}`)
}

const unsafe = (ref: SecretRef, why: string): StintError =>
  new StintError('SECRET_UNSAFE', `cannot resolve ${formatSecretRef(ref)}: ${why}`)

const unsupported = (ref: SecretRef, why: string): StintError =>
  new StintError('SECRET_UNSUPPORTED', `cannot resolve ${formatSecretRef(ref)}: ${why}`)
