import { existsSync, realpathSync } from 'node:fs'
import { dirname, isAbsolute, join, relative, resolve, sep } from 'node:path'
import { errorCode, StintError } from '../base/errors/stint-error.ts'
import { canonicalDirectory, foldNames, namesBelow, realPathOf } from '../base/fs/canonical-path.ts'
import { md5 } from '../base/text/md5.ts'
import { wholeWorkspace } from './claim.ts'
import type { LeaseStore } from './register.ts'

/**
 * What a path belongs to. A repository is a workspace of its own, wherever it lies: a nested repository, a
 * submodule and a linked worktree are no part of the repository around them. Everything outside of all
 * repositories is one more workspace, in which claims are absolute paths, so that a claim on a directory
 * conflicts with claims above and below it.
 */
export interface Workspace {
  /** The top level of the repository; outside of all repositories, the path that was asked about. */
  path: string
  /** Names the workspace in a register of files: the first 12 hex digits of an MD5. */
  key: string
  /** The claim on all of it: `**`; outside of all repositories, the absolute path itself. */
  whole: readonly string[]
}

/** What a lease is on: a workspace, or a resource, which is anything else that has a name. */
export interface LeaseTarget {
  /** Names the target in a register. */
  key: string
  /** Names the target in its record: a repository, `outsideName`, or a resource. */
  name: string
  /** The workspace on this machine; a resource has no path. */
  path?: string
  /** The claim on all of it. */
  whole: readonly string[]
}

/** What names a workspace in the same way on every machine that shares a store. */
type WorkspaceNames = Pick<LeaseStore, 'shared'>

/** The one rule of all doors: the workspace of a path, which may be missing, by its real path alone. */
export function workspaceOf(path: string): Workspace {
  const real = realPathOf(resolve(path))
  const root = repositoryAround(real)
  if (root === undefined) {
    const canonical = canonicalPath(real)
    // A bind mount may show a part of a repository.
    if (canonical !== real && repositoryAround(canonical) !== undefined) return workspaceOf(canonical)
    return { path: canonical, key: outsideKey, whole: [outsideClaim(canonical)] }
  }
  const canonical = canonicalDirectory(root)
  return { path: canonical, key: keyOf(canonical), whole: wholeWorkspace }
}

/** The nearest directory, at or above a real path, that contains `.git`, as a directory or a file. */
function repositoryAround(real: string): string | undefined {
  for (let at = real; ; at = dirname(at)) {
    if (existsSync(`${at}${at === sep ? '' : sep}.git`)) return at
    if (at === dirname(at)) return undefined
  }
}

/** One path of several: a directory has more on a file system without case, and in a bind mount. */
function canonicalPath(real: string): string {
  let directory = real
  // Only a directory has a `.`.
  while (!existsSync(`${directory}/.`)) directory = dirname(directory)
  return join(canonicalDirectory(directory), relative(directory, real))
}

/** A claim outside of all repositories; the root of the file system is `**`. */
function outsideClaim(canonical: string): string {
  const names = canonical.split(sep).filter(Boolean)
  return names.length === 0 ? '**' : `/${foldNames('/', names).join('/')}`
}

/** The name of the workspace that is outside of all repositories. */
export const outsideName = '/'

/** The key of a path or resource in a register of files; `computeWorkspaceHash` is the same for programs. */
const keyOf = (name: string): string => md5(name).slice(0, 12)

const outsideKey = keyOf(outsideName)

export const isOutside = ({ key }: Pick<Workspace, 'key'>): boolean => key === outsideKey

/** The workspace around a directory that a user has named, which must exist. */
export const findWorkspace = (directory: string = currentDirectory()): Workspace =>
  workspaceOf(realDirectory(directory))

/** The workspace around a directory in a filter of a list; one that is gone stands for itself. */
export const workspacePath = (directory: string): string =>
  directory === '' || existsSync(directory) ? findWorkspace(directory).path : resolve(directory)

/** Whether a name is the key of a workspace or resource: the directory of locks may contain other files. */
export const isWorkspaceKey = (name: string): boolean => /^[0-9a-f]{12}$/.test(name)

/** The target of a claim on a workspace. */
export function workspaceTarget(
  workspace: string | Workspace | undefined,
  { shared }: WorkspaceNames,
): LeaseTarget & { path: string } {
  const { path, key, whole } = typeof workspace === 'object' ? workspace : findWorkspace(workspace)
  const name = isOutside({ key }) ? outsideName : path
  return { path, whole, ...(shared?.nameWorkspace(name) ?? { key, name }) }
}

/** The target behind a key and the name in its record. */
export const wholeTarget = (key: string, name: string): LeaseTarget => ({
  key,
  name,
  whole: wholeWorkspace,
  ...(isAbsolute(name) && { path: name }),
})

/** The target of a lease: a workspace, a file, or a resource. */
export function leaseTarget(
  { workspace, resource, file }: { workspace?: string | Workspace; resource?: string; file?: string },
  names: WorkspaceNames,
): LeaseTarget {
  if (file !== undefined) return resourceTarget(`file:${realPathOf(resolve(String(file)))}`, names)
  return resource === undefined ? workspaceTarget(workspace, names) : resourceTarget(resource, names)
}

/** The plain name of a resource, which users type, cannot be mistaken for a path. */
const isPlainName = (name: string): boolean => /^[A-Za-z0-9][A-Za-z0-9._:/@+-]{0,199}$/.test(name)

/** Refuses the name of a resource that a user or a model has typed, unless it is a plain one. */
export function assertPlainResource(name: string): void {
  if (isPlainName(name)) return
  throw new StintError('ARG_ERROR', `${JSON.stringify(name.slice(0, 210))} cannot be a resource`, {
    hint: 'A resource is named like deploy:prod: a letter or digit, then at most 199 of letters, digits and . _ : / @ + -',
  })
}

const maxResourceBytes = 4096

function resourceTarget(name: string, { shared }: WorkspaceNames): LeaseTarget {
  const bytes = Buffer.from(String(name))
  const isText = bytes.toString() === name && !name.includes('\0')
  if (!isText || bytes.length === 0 || bytes.length > maxResourceBytes)
    throw new StintError(
      'ARG_ERROR',
      `a resource is named by 1 to ${maxResourceBytes} bytes, like deploy:prod`,
    )
  const key = `resource:${name}`
  if (shared === undefined) return { key: keyOf(key), name, whole: wholeWorkspace }
  // Where machines share a register, a key has a limited length; no plain name begins with a hash sign.
  return { key: isPlainName(name) ? key : `resource:#${md5(key)}`, name, whole: wholeWorkspace }
}

/** Tells from a record whether its claims are on a workspace or a resource. */
export const targetKind = ({ key, name }: Pick<LeaseTarget, 'key' | 'name'>): 'workspace' | 'resource' =>
  key.startsWith('resource:') || key === keyOf(`resource:${name}`) ? 'resource' : 'workspace'

/**
 * Paths as a user gives them, in the form of claims on a target. In a register that machines share they are
 * in lower case, as some of the machines may not tell cases apart.
 */
export function pathsInTarget(
  { path: workspace, name }: Pick<LeaseTarget, 'path' | 'name'>,
  { shared }: WorkspaceNames,
  paths: readonly string[],
  from: string = currentDirectory(),
): string[] {
  if (workspace === undefined)
    throw new StintError('ARG_ERROR', `${name} is a resource: it has no paths`, {
      hint: 'Leave the paths out: a resource is claimed as a whole.',
    })
  return paths.map((pattern) => {
    const path = withoutPattern(pattern)
    const claimed = claimPath(workspaceOf(workspace), path === '**' ? workspace : path, from)
    return shared === undefined ? claimed : claimed.toLowerCase()
  })
}

/**
 * Turns `src/**` into the directory `src`, which claims everything below it. Refuses other patterns: they
 * would claim a file of that very name, and nothing else.
 */
function withoutPattern(path: string): string {
  const plain = path.replace(/\/+$/, '').replace(/\/\*\*$/, '')
  if (plain === '**' || !plain.includes('*')) return plain === '' ? path : plain
  throw new StintError('NAME_INVALID', `${path} is a pattern: a claim is on files and directories`, {
    hint: 'Claim the directory; everything below it is claimed with it.',
  })
}

/** The claim of a file or directory that belongs to this workspace. */
function claimPath(workspace: Workspace, path: string, from: string): string {
  const absolute = resolve(from, path)
  const owner = path.includes('\0') ? undefined : workspaceOf(absolute)
  const names = owner?.key === workspace.key ? namesIn(workspace, absolute) : undefined
  if (owner === undefined || names === undefined) throw notInWorkspace(path, workspace, owner)
  return isOutside(owner) ? (owner.whole[0] ?? '**') : claimInRepository(workspace, names)
}

/** The names that lead from the top of a workspace to a path, which may be mounted elsewhere, too. */
function namesIn({ path }: Workspace, file: string): string[] | undefined {
  const real = realPathOf(file)
  return namesBelow(path, real) ?? namesBelow(path, canonicalPath(real))
}

function notInWorkspace(path: string, workspace: Workspace, owner: Workspace | undefined): StintError {
  const isNested = owner !== undefined && !isOutside(owner)
  return new StintError('NAME_INVALID', `${path} is not in the workspace ${workspace.path}`, {
    hint: isNested
      ? `It belongs to the repository ${owner.path}: name that with --workspace.`
      : 'Claim a path in that workspace, or name another workspace.',
  })
}

/** The claim of a file in the workspace that it belongs to. */
export function fileClaim(file: string): { workspace: Workspace; path: string } {
  const workspace = workspaceOf(file)
  if (isOutside(workspace)) return { workspace, path: workspace.whole[0] ?? '**' }
  const names = namesIn(workspace, resolve(file)) ?? []
  return { workspace, path: claimInRepository(workspace, names) }
}

/** Names are in lower case if their directory does not tell cases apart. */
const claimInRepository = ({ path }: Workspace, names: readonly string[]): string =>
  names.length === 0 ? '**' : foldNames(path, names).join('/')

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
  try {
    // Only a directory has a `.`.
    return realpathSync.native(directory && `${directory}/.`)
  } catch (error) {
    const reason = errorCode(error) ?? String(error)
    if (reason === 'ENOTDIR' && existsSync(directory))
      throw new StintError('NOT_FOUND', `${directory} is not a directory`)
    throw new StintError('NOT_FOUND', `there is no directory ${directory}: ${reason}`, {
      cause: error,
    })
  }
}
