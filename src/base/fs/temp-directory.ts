import { realpathSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { codedError, errorCode, StintError } from '../errors/stint-error.ts'

/** The temp directory as it is configured: `STINT_TMP_ROOT`, or that of the system. */
export const configuredTmp = (env: NodeJS.ProcessEnv = process.env): string => env.STINT_TMP_ROOT || tmpdir()

/** The real path of the temp directory: mounts are listed by their real paths. */
export function findTmp(env: NodeJS.ProcessEnv = process.env): string {
  const tmp = configuredTmp(env)
  try {
    return realpathSync.native(tmp)
  } catch (error) {
    throw tempDirectoryError(error, tmp)
  }
}

/**
 * Explains a failed use of the temp directory or of a path in it; `TEMP_DIR_MISSING` if it does not exist.
 */
export function tempDirectoryError(error: unknown, path: string): unknown {
  const errno = errorCode(error) ?? ''
  if (!['ENOENT', 'ENOTDIR', 'ELOOP', 'ENAMETOOLONG'].includes(errno)) return codedError(error, `use ${path}`)
  return new StintError('TEMP_DIR_MISSING', `there is no directory for ${path}`, {
    cause: error,
    detail: `errno=${errno}`,
  })
}
