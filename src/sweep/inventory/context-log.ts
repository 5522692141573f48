import { join } from 'node:path'
import { readLastLines } from '../../base/fs/line-file.ts'
import { parseObject } from '../../base/text/parse-object.ts'
import { visibleText } from '../../base/text/visible-text.ts'
import { contextsLog } from '../../scratch/context-directory.ts'
import { metaDirectory } from '../../scratch/owner.ts'

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
