import { lstatSync, utimesSync } from 'node:fs'
import { join, relative } from 'node:path'
import { explained } from '../base/errors/if-possible.ts'
import { codedError, errorCode, StintError } from '../base/errors/stint-error.ts'
import { appendPrivateFile, createPrivateFile, makePrivateDirectory } from '../base/fs/private-file.ts'
import { readLastLines } from '../base/fs/regular-file.ts'
import { parseObject } from '../base/text/fields.ts'
import { shellWord, visibleText } from '../base/text/escape.ts'
import { isRequestId } from '../base/text/id.ts'
import type { ScratchRun } from './context.ts'
import { ensureScratchDirectory } from './root.ts'

/** Joins the parts, creating the directories on the way. Refuses to follow a symlink. */
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

export const createFile = (path: string, content: string | Uint8Array): void =>
  creating(path, () => createPrivateFile(path, content))

export const createDirectory = (path: string): void => creating(path, () => makePrivateDirectory(path))

/** Makes something at a path, and explains a failure. */
export const creating = (path: string, make: () => void): void =>
  explained((error) => creationError(error, path), make)

/** Explains a failed creation. ENOENT means that `base` is gone: everything below it is created. */
function creationError(error: unknown, path: string): unknown {
  const errno = errorCode(error)
  if (errno === 'EEXIST') return new StintError('NAME_TAKEN', `${path} already exists`, { cause: error })
  if (errno === 'ENOENT')
    return new StintError('NOT_FOUND', `cannot create ${path}: its directory is gone`, { cause: error })
  if (errno === 'ENAMETOOLONG')
    return new StintError('NAME_INVALID', `cannot create ${path.slice(0, 80)}…: the path is too long`, {
      cause: error,
      hint: 'Use a shorter name, or set STINT_TMP_ROOT to a shorter path.',
    })
  return codedError(error, `create ${path}`)
}

/** Splits a name into parts. Throws `NAME_INVALID` if it would lead out of the directory it is joined to. */
export function safeNameParts(name: string): string[] {
  const parts = name.split('/')
  if (name.includes('\0') || parts.some((part) => part === '' || part === '.' || part === '..')) {
    throw invalid(name, 'it must be a relative path without empty parts, "." or ".."')
  }
  if (process.platform === 'win32' && /[\\:]/.test(name)) throw invalid(name, 'it contains "\\" or ":"')
  if (parts.some((part) => Buffer.byteLength(part) > 255)) throw invalid(name, 'a part is over 255 bytes')
  return parts
}

const invalid = (name: string, why: string): StintError =>
  new StintError('NAME_INVALID', `cannot use ${JSON.stringify(name.slice(0, 80))} as a name: ${why}`)

/** Files for the caller: `out/<requestId>-<expiry>/`, with the earliest expiry in seconds since the epoch. */
export interface OutputDirectory {
  path: string
  keepSeconds: number
}

export const defaultKeepSeconds = 300

/** The run's directory for files that are kept this long; made on first use. */
export function outputDirectoryFor(
  { outputs, root, requestId, clock }: Pick<ScratchRun, 'outputs' | 'root' | 'requestId' | 'clock'>,
  keepSeconds: number,
): string {
  if (!Number.isSafeInteger(keepSeconds) || keepSeconds < 0)
    throw new StintError('ARG_ERROR', `keepSeconds must be a whole number of seconds, not ${keepSeconds}`)
  const output = outputs.find((output) => output.keepSeconds === keepSeconds)
  if (output !== undefined) return output.path
  const path = join(root.out, `${requestId}-${Math.ceil(clock.now() / 1000) + keepSeconds}`)
  for (const directory of [root.out, path]) ensureScratchDirectory(directory)
  outputs.push({ path, keepSeconds })
  return path
}

/** Starts the time to keep: sets the modification time of each directory to its expiry, in the future. */
export function startExpiry(directories: readonly OutputDirectory[], now: number): void {
  for (const { path, keepSeconds } of directories) {
    try {
      utimesSync(path, now / 1000, now / 1000 + keepSeconds)
    } catch {
      // The program has removed the directory itself.
    }
  }
}

/** The earliest expiry in a name of `out/`, in milliseconds since the epoch; undefined for other names. */
export function outputExpiry(name: string): number | undefined {
  const [, requestId = '', seconds] = /^(\w+)-(\d{1,12})$/.exec(name) ?? []
  return isRequestId(requestId) ? Number(seconds) * 1000 : undefined
}

/** The shell command that removes the files before they expire. */
export function cleanupCommand(directories: readonly OutputDirectory[]): string {
  return `rm -rf -- ${directories.map(({ path }) => shellWord(path)).join(' ')}`
}

/** The directory in a scratch for stint's own files; made when there is one. */
export const metaDirectory = '.stint'

/** `.stint/contexts.log`: which directory belongs to which context, one JSON object a line. */
const contextsLog = 'contexts.log'

/** Makes the directory of the `count`th context of a scratch, and logs it. */
export function makeContextDirectory(
  parent: string,
  { scratch, count, name, file }: { scratch: string; count: number; name: string; file?: string },
): string {
  const path = join(parent, `${count}-${slug(name)}`)
  createDirectory(path)
  creating(path, () => logContext(scratch, path, name, file))
  return path
}

/** Logs a context in `.stint` of a scratch or of an output directory. */
export function logContext(top: string, path: string, name: string, file: string | undefined): void {
  const line = { dir: relative(top, path), name, file: file ?? null }
  appendPrivateFile(makePathIn(top, [metaDirectory, contextsLog]), `${JSON.stringify(line)}\n`)
}

/** Short, because the path of a Unix socket has at most about 100 bytes. */
const slug = (name: string): string =>
  (name.split(' > ').at(-1) ?? '')
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .replace(/^-/, '')
    .slice(0, 16)
    .replace(/-$/, '')

/** A line of `.stint/contexts.log`. The program in the scratch can forge it. */
export interface ContextLine {
  /** The context's directory, relative to the scratch. */
  dir: string
  /** As `describe > it`. */
  name: string
  /** The test file, where there is one. */
  file: string | null
}

export const readContexts = (scratch: string): ContextLine[] =>
  readLastLines(join(scratch, metaDirectory, contextsLog)).flatMap((line) => parseContext(line) ?? [])

/** Parses a line; undefined if it is invalid: it may be torn or forged. */
export function parseContext(line: string): ContextLine | undefined {
  const value = parseObject(line)
  if (typeof value?.dir !== 'string' || typeof value.name !== 'string') return undefined
  const parts = value.dir.split('/')
  if (parts.some((part) => part === '' || part === '.' || part === '..')) return undefined
  return {
    dir: value.dir,
    name: visibleText(value.name),
    file: typeof value.file === 'string' ? visibleText(value.file, 4096) : null,
  }
}

/** The contexts that contain a path, the outermost first. For a reused directory, the latest. */
export function contextsContaining(inside: string, lines: readonly ContextLine[]): ContextLine[] {
  const byDirectory = new Map(lines.map((line) => [line.dir, line]))
  const parts = inside.split('/')
  return parts.flatMap((_, index) => byDirectory.get(parts.slice(0, index + 1).join('/')) ?? [])
}
