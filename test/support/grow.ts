import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const maxDirectories = 10_000

/** How many directories a tree has that is this deep and wide. */
export function directoriesOf(depth: number, width: number): number {
  let count = 1
  for (let level = 0; level < depth; level++) count = 1 + width * count
  return count
}

/**
 * A tree of a given depth and width with a file in each directory; returns how many entries it has. Counted first: a slip in the
 * exponent would fill the disk.
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
