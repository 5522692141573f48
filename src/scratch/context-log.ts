import { join, relative } from 'node:path'
import { readLastLines } from '../base/fs/regular-file.ts'
import { appendPrivateFile, makePrivateDirectory } from '../base/fs/private-file.ts'
import { parseObject } from '../base/text/fields.ts'
import { visibleText } from '../base/text/escape.ts'
import { metaDirectory } from './owner.ts'
import { makePathIn, creationError } from './create-in.ts'

/** `.stint/contexts.log`: which directory belongs to which context, a JSON object a line. */
const contextsLog = 'contexts.log'

/** Makes the directory of the `count`th context of a scratch, and writes down whose it is. */
export function makeContextDirectory(
  parent: string,
  { scratch, count, name, file }: { scratch: string; count: number; name: string; file?: string },
): string {
  const path = join(parent, `${count}-${slug(name)}`)
  try {
    makePrivateDirectory(path)
    logContext(scratch, path, name, file)
  } catch (error) {
    throw creationError(error, path)
  }
  return path
}

/** Beside the owner record of a scratch; in a directory of kept files there is nothing else yet. */
export function logContext(top: string, path: string, name: string, file: string | undefined): void {
  const line = { dir: relative(top, path), name, file: file ?? null }
  appendPrivateFile(makePathIn(top, [metaDirectory, contextsLog]), `${JSON.stringify(line)}\n`)
}

/** Short: a path to a socket has a hundred bytes or so. */
const slug = (name: string): string =>
  (name.split(' > ').at(-1) ?? '')
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .replace(/^-/, '')
    .slice(0, 16)
    .replace(/-$/, '')

/** A line of a scratch's `.stint/contexts.log`. The program in the scratch can write to it: nothing here is a fact. */
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

/** A line that makes sense, or undefined: it may be torn or forged. */
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

/** The contexts that a path of the scratch lies in, the outermost first; of a directory that was used again, its last. */
export function contextsContaining(inside: string, lines: readonly ContextLine[]): ContextLine[] {
  const byDirectory = new Map(lines.map((line) => [line.dir, line]))
  const parts = inside.split('/')
  return parts.flatMap((_, index) => byDirectory.get(parts.slice(0, index + 1).join('/')) ?? [])
}
