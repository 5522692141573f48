import { realpathSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { explained } from '../errors/if-possible.ts'
import { codedError, errorCode, StintError } from '../errors/stint-error.ts'

/** The temp directory as it is configured: `STINT_TMP_ROOT`, or that of the system. */
export const configuredTmp = (env: NodeJS.ProcessEnv = process.env): string => env.STINT_TMP_ROOT || tmpdir()

/** The real path of the temp directory: mounts are listed by their real paths. */
export function findTmp(env: NodeJS.ProcessEnv = process.env): string {
  const tmp = configuredTmp(env)
  return withTempErrors(tmp, () => realpathSync.native(tmp))
}

/** Uses the temp directory or a path in it, and explains a failure: `TEMP_DIR_MISSING` if it is missing. */
export const withTempErrors = <Result>(path: string, use: () => Result): Result =>
  explained((error) => tempDirectoryError(error, path), use)

function tempDirectoryError(error: unknown, path: string): unknown {
  const errno = errorCode(error) ?? ''
  if (!['ENOENT', 'ENOTDIR', 'ELOOP', 'ENAMETOOLONG'].includes(errno)) return codedError(error, `use ${path}`)
  return new StintError('TEMP_DIR_MISSING', `there is no directory for ${path}`, {
    cause: error,
    detail: `errno=${errno}`,
  })
}
