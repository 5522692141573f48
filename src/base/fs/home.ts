import { realpathSync, statSync } from 'node:fs'
import { homedir } from 'node:os'
import { dirname, isAbsolute, join } from 'node:path'
import { explainHome, homeMissing, homeUnsafe } from '../errors/home-error.ts'
import { ensureChosenDirectory } from './own-directory.ts'
import { errorCode, StintError } from '../errors/stint-error.ts'

/** A path has at most 4,096 bytes: what is kept in the home must fit, too. */
const longestHome = 3800

/** Where stint keeps what must last: `$STINT_HOME`, or `~/.stint`. */
export function stintHome(env: NodeJS.ProcessEnv = process.env): string {
  const home = env.STINT_HOME || join(userHome(), '.stint')
  if (!isAbsolute(home))
    throw new StintError('ARG_ERROR', `STINT_HOME must be an absolute path, not ${JSON.stringify(home)}`, {
      hint: 'Set STINT_HOME to an absolute path.',
    })
  if (Buffer.byteLength(home) > longestHome) throw missing(home, 'ENAMETOOLONG')
  try {
    // People keep their dot directories elsewhere and link to them: what counts is where it leads.
    return realpathSync.native(home)
  } catch (error) {
    // Nothing can ever be there. What is not there yet can be made; what else is wrong, its use will tell.
    const errno = errorCode(error) ?? ''
    if (['ELOOP', 'ENAMETOOLONG'].includes(errno)) throw missing(home, errno, error)
    return home
  }
}

function userHome(): string {
  let home = ''
  try {
    home = homedir()
  } catch {
    // A user id without an entry in the system's list, and no HOME either.
  }
  if (isAbsolute(home)) return home
  throw new StintError('HOME_MISSING', 'there is no home directory: HOME does not name one', {
    hint: 'Set STINT_HOME to the absolute path of a directory of yours.',
  })
}

/** A directory in the home, or the home itself: made, or checked before it is trusted. */
export function ensureHomeDirectory(path: string): void {
  let problem: string | undefined
  try {
    problem = ensureChosenDirectory(path)
  } catch (error) {
    throw homeError(error, path)
  }
  if (problem !== undefined) throw homeUnsafe(path, problem)
}

function homeError(error: unknown, path: string): unknown {
  const errno = errorCode(error) ?? ''
  if (['ELOOP', 'ENAMETOOLONG'].includes(errno)) return missing(path, errno, error)
  if (errno !== 'ENOENT') return explainHome(error, path, `make ${path}`)
  const parent = dirname(path)
  if (!isDirectory(parent)) return missing(parent, errno, error)
  const hint = 'Set STINT_HOME to a directory on a disk.'
  return homeMissing(`no directory can be made in ${parent}: ${errno}`, errno, error, hint)
}

const isDirectory = (path: string): boolean =>
  statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false

const missing = (path: string, errno: string, cause?: unknown): StintError =>
  homeMissing(`there is no directory ${shortened(path)}: ${errno}`, errno, cause)

const shortened = (path: string): string => (path.length > 300 ? `${path.slice(0, 300)}…` : path)
