import { lstatSync, realpathSync, type Stats } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ifExists } from '../base/fs/exists.ts'
import { ensureOwnDirectory, ownDirectoryProblem } from '../base/fs/private-file.ts'
import { explained } from '../base/errors/if-possible.ts'
import { codedError, errorCode, StintError } from '../base/errors/stint-error.ts'
import { geteuid } from '../base/process/platform.ts'

/** The directory of all scratches of one user: `<tmp>/stint-<uid>`, 0700, checked before it is trusted. */
export interface ScratchRoot {
  /** Passed to children as `STINT_TMP_ROOT`, so that a run started in a run uses this root, too. */
  readonly tmp: string
  readonly path: string
  /** The scratches, each with its owner beside it. */
  readonly runs: string
  /** Entries are renamed into it before they are deleted, so no process sees a half-deleted scratch. */
  readonly trash: string
  /** Files for the caller, kept until they expire. */
  readonly out: string
  /** Records of the paths that runs track elsewhere, one file per run. */
  readonly tracked: string
}

/** The root of this user in a temp directory. Does not touch the file system. */
export const rootOf = (tmp: string): ScratchRoot => {
  const path = join(tmp, `stint-${geteuid()}`)
  const within = (name: string): string => join(path, name)
  return {
    tmp,
    path,
    runs: within('run'),
    trash: within('trash'),
    out: within('out'),
    tracked: within('tracked'),
  }
}

/** Opens the scratch root, or makes it. Throws `TEMP_DIR_UNSAFE` if it is no directory of this user. */
export function openRoot(env: NodeJS.ProcessEnv = process.env): ScratchRoot {
  const tmp = configuredTmp(env)
  if (opened?.configured === tmp && isUnchanged(opened)) return opened.root
  const root = rootOf(findTmp(env))
  ensureScratchDirectory(root.path)
  ensureScratchDirectory(root.runs)
  ensureScratchDirectory(root.trash)
  const stat = lstatRoot(root)
  opened = stat && { configured: tmp, root, dev: stat.dev, ino: stat.ino }
  return root
}

/** The root that was checked last: a process that makes many scratches needs one lstat for each, not four. */
let opened: { configured: string; root: ScratchRoot; dev: number; ino: number } | undefined

function isUnchanged({ root, dev, ino }: NonNullable<typeof opened>): boolean {
  const now = lstatRoot(root)
  return (
    now?.ino === ino &&
    now.dev === dev &&
    ownDirectoryProblem(now) === undefined &&
    (now.mode & 0o777) === 0o700
  )
}

/** The scratch root; undefined if it is missing. Throws if it is unsafe, and makes nothing. */
export function findRoot(env: NodeJS.ProcessEnv = process.env): ScratchRoot | undefined {
  const root = rootOf(findTmp(env))
  const stat = lstatRoot(root)
  if (stat !== undefined) assertSafe(root.path, ownDirectoryProblem(stat))
  return stat && root
}

const lstatRoot = ({ path }: ScratchRoot): Stats | undefined =>
  withTempErrors(path, () => ifExists(() => lstatSync(path)))

/** Makes the root or a directory in it, or checks the existing one before it is trusted. */
export const ensureScratchDirectory = (path: string): void =>
  assertSafe(
    path,
    withTempErrors(path, () => ensureOwnDirectory(path)),
  )

function assertSafe(path: string, problem: string | undefined): void {
  if (problem === undefined) return
  throw new StintError('TEMP_DIR_UNSAFE', `${path} ${problem}; nothing was created`, {
    detail: `path=${path}`,
  })
}

/** The temp directory as it is configured: `STINT_TMP_ROOT`, or that of the system. */
const configuredTmp = (env: NodeJS.ProcessEnv = process.env): string => env.STINT_TMP_ROOT || tmpdir()

/** The real path of the temp directory: mounts are listed by their real paths. */
export function findTmp(env: NodeJS.ProcessEnv = process.env): string {
  const tmp = configuredTmp(env)
  return withTempErrors(tmp, () => realpathSync.native(tmp))
}

/** Uses the temp directory or a path in it, and explains a failure: `TEMP_DIR_MISSING` if it is missing. */
const withTempErrors = <Result>(path: string, use: () => Result): Result =>
  explained((error) => tempDirectoryError(error, path), use)

function tempDirectoryError(error: unknown, path: string): unknown {
  const errno = errorCode(error) ?? ''
  if (!['ENOENT', 'ENOTDIR', 'ELOOP', 'ENAMETOOLONG'].includes(errno)) return codedError(error, `use ${path}`)
  return new StintError('TEMP_DIR_MISSING', `there is no temp directory ${path}`, {
    cause: error,
    detail: `errno=${errno}`,
  })
}
