import { lstatSync, readdirSync, type Stats } from 'node:fs'
import { join } from 'node:path'
import { drain } from './remove-tree.ts'

/** What is in a tree: the directory at its top counts, too. */
export interface TreeSize {
  /** Whatever is no directory. */
  files: number
  directories: number
  /** Of the files. */
  bytes: number
}

export interface MeasureOptions {
  /** A directory to leave out. */
  skip?: string
  /** Asked now and then: whoever knows enough need not walk on. */
  enough?: (sofar: TreeSize) => boolean
}

/** Bytes of the files in a tree, or of a single file. What cannot be read counts as nothing. */
export const measureTree = (path: string): number => drain(measureSteps(path)).bytes

const entriesPerStep = 256

/** The same with all counts; yields after every few hundred entries. */
export function* measureSteps(path: string, options: MeasureOptions = {}): Generator<void, TreeSize> {
  const size: TreeSize = { files: 0, directories: 0, bytes: 0 }
  const pending: string[] = []
  const count = (inner: string, isDirectory: boolean, bytes: () => number): void => {
    if (inner === options.skip) return
    if (isDirectory) {
      size.directories += 1
      pending.push(inner)
    } else {
      size.files += 1
      size.bytes += bytes()
    }
  }
  const top = look(path)
  if (top !== undefined) count(path, top.isDirectory(), () => top.size)
  let counted = 0
  for (let directory = pending.pop(); directory !== undefined; directory = pending.pop()) {
    for (const entry of entries(directory)) {
      const inner = join(directory, entry.name)
      count(inner, entry.isDirectory(), () => look(inner)?.size ?? 0)
      counted += 1
      if (counted % entriesPerStep !== 0) continue
      if (options.enough?.(size)) return size
      yield
    }
  }
  return size
}

function look(path: string): Stats | undefined {
  try {
    return lstatSync(path, { throwIfNoEntry: false })
  } catch {
    // In a directory that may be listed but not entered.
    return undefined
  }
}

function entries(directory: string): ReturnType<typeof readdirWithTypes> {
  try {
    return readdirWithTypes(directory)
  } catch {
    return []
  }
}

const readdirWithTypes = (directory: string) => readdirSync(directory, { withFileTypes: true })
