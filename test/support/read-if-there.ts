import { readFileSync } from 'node:fs'

/** The contents of a file; empty if it does not exist yet. */
export function readIfThere(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
    return ''
  }
}
