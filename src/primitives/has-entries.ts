import { opendirSync } from 'node:fs'

/** Is there anything in this directory? Nothing in what is not there; what cannot be read may have anything in it. */
export function hasEntries(directory: string): boolean {
  try {
    const open = opendirSync(directory, { bufferSize: 1 })
    try {
      return open.readSync() !== null
    } finally {
      open.closeSync()
    }
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== 'ENOENT'
  }
}
