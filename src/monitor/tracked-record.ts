import { lstatSync } from 'node:fs'
import { homedir } from 'node:os'
import { isAbsolute, join } from 'node:path'
import { isWithin } from '../primitives/is-within.ts'
import { parseObject, readLastLines } from '../primitives/line-file.ts'
import { visibleText } from '../primitives/visible-text.ts'
import type { ScratchRoot } from '../scratch/root.ts'

/** A line of `tracked/<requestId>`: something elsewhere that must go when its run goes. */
export interface TrackedLine {
  path: string
  /** The context that tracks it, as `outer > inner`. */
  context: string | null
  /** What a sweep asks: is it still what the run has put there? Not so if nothing was there when it was tracked, or if it covers too much. */
  sweepable: boolean
}

export const readTracked = (root: ScratchRoot, requestId: string): TrackedLine[] =>
  readLastLines(join(root.tracked, requestId)).flatMap((line) => parseTracked(line, root) ?? [])

function parseTracked(line: string, root: ScratchRoot): TrackedLine | undefined {
  const value = parseObject(line)
  if (typeof value?.path !== 'string' || !isAbsolute(value.path) || value.path.includes('\0'))
    return undefined
  return {
    path: value.path,
    context: typeof value.context === 'string' ? visibleText(value.context) : null,
    sweepable: !isTooMuch(value.path, root) && isUnchanged(value.path, value.file),
  }
}

/** A forged line must not have us walk through everything, nor count what is in the root twice. */
const isTooMuch = (path: string, root: ScratchRoot): boolean =>
  isWithin(homedir(), path) || isWithin(root.path, path) || isWithin(path, root.path)

function isUnchanged(path: string, file: unknown): boolean {
  if (typeof file !== 'object' || file === null) return false
  const { dev, ino, born } = file as Record<string, unknown>
  try {
    const stat = lstatSync(path)
    return stat.dev === dev && stat.ino === ino && stat.birthtimeMs === born
  } catch {
    return false
  }
}
