import { lstatSync, readdirSync } from 'node:fs'
import { join } from 'node:path'

/** Bytes of the files in a tree, or of a single file. What cannot be read counts as nothing. */
export function measureTree(path: string): number {
  const stat = lstatSync(path, { throwIfNoEntry: false })
  if (stat === undefined) return 0
  if (!stat.isDirectory()) return stat.size
  let bytes = 0
  const pending = [path]
  for (let directory = pending.pop(); directory !== undefined; directory = pending.pop()) {
    for (const entry of entries(directory)) {
      const inner = join(directory, entry.name)
      if (entry.isDirectory()) pending.push(inner)
      else bytes += lstatSync(inner, { throwIfNoEntry: false })?.size ?? 0
    }
  }
  return bytes
}

function entries(directory: string): ReturnType<typeof readdirWithTypes> {
  try {
    return readdirWithTypes(directory)
  } catch {
    return []
  }
}

const readdirWithTypes = (directory: string) => readdirSync(directory, { withFileTypes: true })
