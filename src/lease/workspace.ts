import { lstatSync, realpathSync, type Stats, statSync } from 'node:fs'
import { basename, dirname, join, relative, resolve, sep } from 'node:path'
import { md5 } from '../base/text/md5.ts'
import { readSmallFile } from '../base/fs/regular-file.ts'
import { errorCode, StintError } from '../base/errors/stint-error.ts'

/** The tree being edited: the git top level if there is one, else the directory; always its real path. */
export interface Workspace {
  path: string
  /** First 12 hex digits of the MD5 of the path. */
  key: string
}

export function findWorkspace(directory: string = currentDirectory()): Workspace {
  const path = gitTopLevel(realDirectory(directory))
  return { path, key: computeWorkspaceHash(path) }
}

/** Is it the key of a workspace? Others may put anything beside them. */
export const isWorkspaceKey = (name: string): boolean => /^[0-9a-f]{12}$/.test(name)

/** First 12 hex digits of the MD5 of the path as it is given. */
export const computeWorkspaceHash = (path: string): string => md5(String(path || '')).slice(0, 12)

function currentDirectory(): string {
  try {
    return process.cwd()
  } catch (error) {
    throw new StintError('NOT_FOUND', 'the current directory does not exist any more', {
      cause: error,
      hint: 'Change to a directory that exists, or name one with --workspace.',
    })
  }
}

function realDirectory(directory: string): string {
  let path: string
  try {
    path = realpathSync.native(directory)
  } catch (error) {
    throw new StintError(
      'NOT_FOUND',
      `there is no directory ${directory}: ${errorCode(error) ?? String(error)}`,
      {
        cause: error,
      },
    )
  }
  if (lstatSync(path).isDirectory()) return path
  throw new StintError('NOT_FOUND', `${directory} is not a directory`)
}

/** Found by looking, without running git. */
function gitTopLevel(start: string): string {
  let submodule: string | undefined
  for (let at = start; ; at = dirname(at)) {
    const kind = gitKind(join(at, '.git'))
    if (kind === 'alone') return at
    if (kind === 'submodule') submodule ??= at
    // One whose superproject is not around it has only itself.
    if (at === dirname(at)) return submodule ?? start
  }
}

/** A submodule belongs to its superproject; a linked worktree, or any other `.git` file, stands alone. */
function gitKind(git: string): 'alone' | 'submodule' | undefined {
  const stat = statOf(git)
  if (stat === undefined || stat.isDirectory()) return stat && 'alone'
  const gitDirectory = /^gitdir: (.*)$/m.exec(readSmallFile(git) ?? '')?.[1]
  if (gitDirectory === undefined) return undefined
  return isOfSubmodule(gitDirectory.replaceAll('\\', '/')) ? 'submodule' : 'alone'
}

/** Git keeps a submodule in `modules` of its superproject, which may itself be a worktree; a worktree of a submodule comes after that. */
const isOfSubmodule = (gitDirectory: string): boolean =>
  gitDirectory.includes('/modules/') &&
  gitDirectory.lastIndexOf('/worktrees/') < gitDirectory.lastIndexOf('/modules/')

/** `.git` may be a link to where it is kept. */
function statOf(path: string): Stats | undefined {
  try {
    return statSync(path, { throwIfNoEntry: false })
  } catch {
    // A link that leads to itself, or to where we may not look.
    return undefined
  }
}

/**
 * A path that somebody asks for. `src/**` is the directory `src`: a directory claims all below it. Other patterns are refused, since they would
 * claim a file of that very name, and nothing else.
 */
export function plainPath(path: string): string {
  const plain = path.replace(/\/+$/, '').replace(/\/\*\*$/, '')
  if (plain === '**' || !plain.includes('*')) return plain === '' ? path : plain
  throw new StintError('NAME_INVALID', `${path} is a pattern: a claim is on files and directories`, {
    hint: 'Claim the directory; everything below it is claimed with it.',
  })
}

/**
 * Paths as claims name them: relative to the workspace, real, in lower case where the file system does not tell cases apart, or if `fold` says so. `paths` are relative to `from`.
 */
export function claimPaths(
  workspace: string,
  paths: readonly string[],
  from: string = currentDirectory(),
  fold: boolean = paths.length > 0 && ignoresCase(workspace),
): string[] {
  return paths.map((path) => {
    if (path === '**' || path === '') return '**'
    const inside = relative(workspace, realAncestor(resolve(from, path)))
    if (inside === '') return '**'
    if (inside === '..' || inside.startsWith(`..${sep}`) || inside.includes('\0')) {
      throw new StintError('NAME_INVALID', `${path} is not in the workspace ${workspace}`)
    }
    const name = inside.split(sep).join('/')
    return fold ? name.toLowerCase() : name
  })
}

/** The real path of the deepest ancestor that exists, with the rest as it is: a file may yet have to be made. */
function realAncestor(path: string): string {
  try {
    return realpathSync.native(path)
  } catch (error) {
    const parent = dirname(path)
    const errno = errorCode(error)
    if (parent === path || (errno !== 'ENOENT' && errno !== 'ENOTDIR')) return path
    return join(realAncestor(parent), basename(path))
  }
}

/** Does the directory answer to its name in the other case, too? */
function ignoresCase(directory: string): boolean {
  const name = basename(directory)
  const other = name === name.toLowerCase() ? name.toUpperCase() : name.toLowerCase()
  if (other === name) return false
  const [one, two] = [name, other].map((each) =>
    lstatSync(join(dirname(directory), each), { throwIfNoEntry: false }),
  )
  return one !== undefined && one.ino === two?.ino && one.dev === two.dev
}
