import { lstatSync } from 'node:fs'
import { errorCode } from '../errors/stint-error.ts'

/** Is there anything by this name? No link is followed; what cannot be looked at may be there. */
export function exists(path: string): boolean {
  try {
    return lstatSync(path, { throwIfNoEntry: false }) !== undefined
  } catch (error) {
    return errorCode(error) !== 'ENOTDIR'
  }
}

/** Is it a directory, and no link to one? */
export function isRealDirectory(path: string | Buffer): boolean {
  try {
    return lstatSync(path).isDirectory()
  } catch {
    return false
  }
}
