import { chmodSync, lstatSync, mkdirSync, realpathSync, type Stats } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { codedError, errnoOf, StintError } from '../primitives/stint-error.ts'
import { geteuid } from '../primitives/user.ts'

/** The directory all scratches of one user live in: `<tmp>/stint-<uid>`, 0700, checked before it is trusted. */
export interface ScratchRoot {
  /** What `STINT_TMP_ROOT` says to our children, so that a run inside a run is a sibling. */
  readonly tmp: string
  readonly path: string
  /** What is being deleted: renamed here first, so nobody ever sees a half-deleted scratch. */
  readonly trash: string
  /** Files handed to the caller, kept until they expire. */
  readonly out: string
}

const rootOf = (tmp: string): ScratchRoot => {
  const path = join(tmp, `stint-${geteuid()}`)
  return { tmp, path, trash: join(path, 'trash'), out: join(path, 'out') }
}

/** The scratch root, made if it is not there; `TEMP_DIR_UNSAFE` if what is there is not ours. */
export function openRoot(env: NodeJS.ProcessEnv = process.env): ScratchRoot {
  const root = rootOf(realTmp(env))
  ensureOwnDirectory(root.path)
  ensureOwnDirectory(root.trash)
  return root
}

/** The scratch root if it is there and safe; undefined if there is none. Makes nothing. */
export function findRoot(env: NodeJS.ProcessEnv = process.env): ScratchRoot | undefined {
  const root = rootOf(realTmp(env))
  try {
    assertOwnDirectory(root.path, lstatSync(root.path))
    return root
  } catch (error) {
    if (errnoOf(error) === 'ENOENT') return undefined
    throw rootError(error, root.path)
  }
}

// Mount points are known by their real path, and a child sees the same one whatever its own links say.
function realTmp(env: NodeJS.ProcessEnv): string {
  const tmp = env.STINT_TMP_ROOT || tmpdir()
  try {
    return realpathSync.native(tmp)
  } catch (error) {
    throw rootError(error, tmp)
  }
}

function rootError(error: unknown, path: string): unknown {
  const errno = errnoOf(error) ?? ''
  if (!['ENOENT', 'ENOTDIR', 'ELOOP'].includes(errno)) return codedError(error, `use ${path}`)
  return new StintError('TEMP_DIR_MISSING', `there is no directory for ${path}`, {
    cause: error,
    detail: `errno=${errno}`,
  })
}

/** Makes a private directory of ours, or checks with lstat that what is there is one. */
export function ensureOwnDirectory(path: string): void {
  let stat: Stats
  try {
    stat = lstatSync(path)
  } catch (error) {
    if (errnoOf(error) !== 'ENOENT') throw rootError(error, path)
    stat = makeOwnDirectory(path)
  }
  assertOwnDirectory(path, stat)
  // A umask can take permissions from us, never give them to others; someone may have opened it since.
  if ((stat.mode & 0o777) !== 0o700 && process.platform !== 'win32') chmodSync(path, 0o700)
}

function makeOwnDirectory(path: string): Stats {
  try {
    mkdirSync(path, 0o700)
  } catch (error) {
    // Another run made it in the same moment: it is checked like any other.
    if (errnoOf(error) !== 'EEXIST') throw rootError(error, path)
  }
  return lstatSync(path)
}

function assertOwnDirectory(path: string, stat: Stats): void {
  const problem = stat.isSymbolicLink()
    ? 'is a symbolic link'
    : !stat.isDirectory()
      ? 'is not a directory'
      : stat.uid !== geteuid() && process.platform !== 'win32'
        ? `belongs to user ${stat.uid}`
        : undefined
  if (problem !== undefined) {
    throw new StintError('TEMP_DIR_UNSAFE', `${path} ${problem}; nothing was created`, {
      detail: `path=${path}`,
    })
  }
}
