import type { Stats } from 'node:fs'
import { errorCode } from '../../base/errors/stint-error.ts'

/** Undefined if there is nothing, also because a part of the path is a file: `throwIfNoEntry` throws at that. */
export function statIfThere(stat: (path: string) => Stats, path: string): Stats | undefined {
  try {
    return stat(path)
  } catch (error) {
    if (['ENOENT', 'ENOTDIR'].includes(errorCode(error) ?? '')) return undefined
    throw error
  }
}
