import { lstatSync, realpathSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ensureOwnDirectory, ownDirectoryProblem } from '../base/fs/own-directory.ts'
import { codedError, errorCode, StintError } from '../base/errors/stint-error.ts'
import { geteuid } from '../base/process/platform.ts'

/** The directory all scratches of one user live in: `<tmp>/stint-<uid>`, 0700, checked before it is trusted. */
export interface ScratchRoot {
  /** What `STINT_TMP_ROOT` says to our children, so that a run inside a run is a sibling. */
  readonly tmp: string
  readonly path: string
  /** What is being deleted: renamed here first, so nobody ever sees a half-deleted scratch. */
  readonly trash: string
  /** Files handed to the caller, kept until they expire. */
  readonly out: string
  /** What runs track elsewhere, a file a run. */
  readonly tracked: string
}

/** Where the root of this user is, below a temp directory. Makes nothing and looks at nothing. */
export const rootOf = (tmp: string): ScratchRoot => {
  const path = join(tmp, `stint-${geteuid()}`)
  return { tmp, path, trash: join(path, 'trash'), out: join(path, 'out'), tracked: join(path, 'tracked') }
}

/** The scratch root, made if it is not there; `TEMP_DIR_UNSAFE` if what is there is not ours. */
export function openRoot(env: NodeJS.ProcessEnv = process.env): ScratchRoot {
  const tmp = env.STINT_TMP_ROOT || tmpdir()
  if (opened?.given === tmp && isUnchanged(opened)) return opened.root
  const root = rootOf(findTmp(env))
  ensureScratchDirectory(root.path)
  ensureScratchDirectory(root.trash)
  const { dev, ino } = lstatSync(root.path)
  opened = { given: tmp, root, dev, ino }
  return root
}

/** The root that was checked last: a process that makes many scratches looks once a time, not four times. */
let opened: { given: string; root: ScratchRoot; dev: number; ino: number } | undefined

function isUnchanged({ root, dev, ino }: NonNullable<typeof opened>): boolean {
  const now = lstatSync(root.path, { throwIfNoEntry: false })
  return (
    now?.ino === ino &&
    now.dev === dev &&
    ownDirectoryProblem(now) === undefined &&
    (now.mode & 0o777) === 0o700
  )
}

/** The scratch root if it is there and safe; undefined if there is none. Makes nothing. */
export function findRoot(env: NodeJS.ProcessEnv = process.env): ScratchRoot | undefined {
  const root = rootOf(findTmp(env))
  try {
    assertSafe(root.path, ownDirectoryProblem(lstatSync(root.path)))
    return root
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return undefined
    throw rootError(error, root.path)
  }
}

/** The temp directory the root lies in. Mount points are known by their real path, and a child sees the same one whatever its own links say. */
export function findTmp(env: NodeJS.ProcessEnv = process.env): string {
  const tmp = env.STINT_TMP_ROOT || tmpdir()
  try {
    return realpathSync.native(tmp)
  } catch (error) {
    throw rootError(error, tmp)
  }
}

function rootError(error: unknown, path: string): unknown {
  const errno = errorCode(error) ?? ''
  if (!['ENOENT', 'ENOTDIR', 'ELOOP', 'ENAMETOOLONG'].includes(errno)) return codedError(error, `use ${path}`)
  return new StintError('TEMP_DIR_MISSING', `there is no directory for ${path}`, {
    cause: error,
    detail: `errno=${errno}`,
  })
}

/** A directory of ours inside the root, or the root itself: made, or checked before it is trusted. */
export function ensureScratchDirectory(path: string): void {
  let problem: string | undefined
  try {
    problem = ensureOwnDirectory(path)
  } catch (error) {
    throw rootError(error, path)
  }
  assertSafe(path, problem)
}

function assertSafe(path: string, problem: string | undefined): void {
  if (problem === undefined) return
  throw new StintError('TEMP_DIR_UNSAFE', `${path} ${problem}; nothing was created`, {
    detail: `path=${path}`,
  })
}
