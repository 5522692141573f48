import { lstatSync } from 'node:fs'
import { join } from 'node:path'
import { createPrivateFile, makePrivateDirectory } from '../base/fs/private-file.ts'
import { codedError, errorCode, StintError } from '../base/errors/stint-error.ts'

/** Joins, making the directories on the way; a symlink on the way is refused, not followed. */
export function makePathIn(base: string, parts: readonly string[]): string {
  if (parts.length === 1) return `${base}/${parts[0]}`
  let path = base
  for (const part of parts.slice(0, -1)) {
    path = join(path, part)
    try {
      makePrivateDirectory(path)
    } catch (error) {
      if (errorCode(error) !== 'EEXIST' || !lstatSync(path).isDirectory()) throw creationError(error, path)
    }
  }
  return join(path, parts.at(-1) ?? '')
}

export function createFile(path: string, content: string | Uint8Array): void {
  try {
    createPrivateFile(path, content)
  } catch (error) {
    throw creationError(error, path)
  }
}

/** The error of creating something. Directories on the way are made, so only the one at the beginning can be missing. */
export function creationError(error: unknown, path: string): unknown {
  const errno = errorCode(error)
  if (errno === 'EEXIST') return new StintError('NAME_TAKEN', `${path} already exists`, { cause: error })
  if (errno === 'ENOENT')
    return new StintError('NOT_FOUND', `cannot create ${path}: its directory is gone`, { cause: error })
  if (errno === 'ENAMETOOLONG')
    return new StintError('NAME_INVALID', `cannot create ${path.slice(0, 80)}…: the path is too long`, {
      cause: error,
    })
  return codedError(error, `create ${path}`)
}

/** The parts of a name that stays inside the directory it is joined to, or `NAME_INVALID`. */
export function safeNameParts(name: string): string[] {
  const parts = name.split('/')
  if (name.includes('\0') || parts.some((part) => part === '' || part === '.' || part === '..')) {
    throw invalid(name, 'it must be a relative path without empty parts, "." or ".."')
  }
  if (process.platform === 'win32' && /[\\:]/.test(name)) throw invalid(name, 'it holds "\\" or ":"')
  if (parts.some((part) => Buffer.byteLength(part) > 255)) throw invalid(name, 'a part is over 255 bytes')
  return parts
}

const invalid = (name: string, why: string): StintError =>
  new StintError('NAME_INVALID', `cannot use ${JSON.stringify(name.slice(0, 80))} as a name: ${why}`)
