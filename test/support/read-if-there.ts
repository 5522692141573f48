import { readFileSync } from 'node:fs'

/** The text of a file, empty if there is none yet. */
export function readIfThere(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
    return ''
  }
}
