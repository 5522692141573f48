import { readdirSync } from 'node:fs'

/** Is there anything in this directory? Nothing in what is not there; what cannot be read may have anything in it. */
export function hasEntries(directory: string): boolean {
  try {
    return readdirSync(directory).length > 0
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== 'ENOENT'
  }
}
