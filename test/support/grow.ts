import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const maxDirectories = 10_000

/** The number of directories in a tree of this depth and width. */
export function directoriesOf(depth: number, width: number): number {
  let count = 1
  for (let level = 0; level < depth; level++) count = 1 + width * count
  return count
}

/**
 * Makes a tree with a file in each directory; returns its number of entries. Counts the directories first: a
 * wrong exponent would fill the disk.
 */
export function grow(path: string, depth: number, width: number): number {
  const directories = directoriesOf(depth, width)
  if (directories > maxDirectories) throw new Error(`${directories} directories are too many`)
  growTree(path, depth, width)
  return 2 * directories
}

function growTree(path: string, depth: number, width: number): void {
  mkdirSync(path)
  writeFileSync(join(path, 'file'), 'four')
  if (depth > 0) for (let i = 0; i < width; i++) growTree(join(path, `d${i}`), depth - 1, width)
}
