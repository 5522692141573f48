import { join, relative } from 'node:path'
import { readLastLines } from '../base/fs/regular-file.ts'
import { appendPrivateFile } from '../base/fs/private-file.ts'
import { parseObject } from '../base/text/fields.ts'
import { visibleText } from '../base/text/escape.ts'
import { metaDirectory } from './owner.ts'
import { createDirectory, creating, makePathIn } from './create-in.ts'

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
