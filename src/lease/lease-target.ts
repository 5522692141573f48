import { existsSync, realpathSync, statSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { ifPossible } from '../base/errors/if-possible.ts'
import { errorCode, StintError } from '../base/errors/stint-error.ts'
import { canonicalDirectory, foldNames, namesBelow, realPathOf } from '../base/fs/canonical-path.ts'
import { readSmallFile } from '../base/fs/regular-file.ts'
import { md5 } from '../base/text/md5.ts'
import type { Register } from './register.ts'

/**
 * The tree being edited: the git top level if there is one, else the directory. Always by one path, although
 * a directory on a file system without case, or in a bind mount, has several.
 */
export interface Workspace {
  path: string
  /** First 12 hex digits of the MD5 of the path. */
  key: string
}

/** What a lease is on: a workspace, or a resource, which is anything else that has a name. */
export interface LeaseTarget {
  /** Names the target in a register. */
  key: string
  /** A workspace's path, or its repository where machines share it; or the name of a resource. */
  name: string
  /** The workspace on this machine; a resource has no path. */
  path?: string
}

/** Finds the workspace around a directory. */
export function findWorkspace(directory: string = currentDirectory()): Workspace {
  const path = canonicalDirectory(gitTopLevel(realDirectory(directory)))
  return { path, key: keyOf(path) }
}

/** Whether a name is the key of a workspace or resource: the directory of locks may contain other files. */
export const isWorkspaceKey = (name: string): boolean => /^[0-9a-f]{12}$/.test(name)

/** The key of a path or resource in a register of files; `computeWorkspaceHash` is the same for programs. */
const keyOf = (name: string): string => md5(name).slice(0, 12)

/** The name of a resource cannot be mistaken for a path. */
const isResourceName = (name: string): boolean => /^[A-Za-z0-9][A-Za-z0-9._:/@+-]{0,199}$/.test(name)

export function resourceTarget(name: string, { shared }: Pick<Register, 'shared'>): LeaseTarget {
  if (!isResourceName(name)) {
    throw new StintError('ARG_ERROR', `${JSON.stringify(String(name).slice(0, 210))} cannot be a resource`, {
      hint: 'A resource is named like deploy:prod: a letter or digit, then at most 199 of letters, digits and . _ : / @ + -',
    })
  }
  const key = `resource:${name}`
  // In files, a key is the name of a directory.
  return { key: shared ? key : keyOf(key), name }
}

/** The target of a lease in a program: a workspace, a file, or a resource of any name. */
export function leaseTarget(
  { workspace, resource, file }: { workspace?: string | Workspace; resource?: string; file?: string },
  register: Pick<Register, 'shared'>,
): LeaseTarget {
  if (file !== undefined) return textTarget(`file:${realPathOf(resolve(String(file)))}`, register)
  return resource === undefined ? workspaceTarget(workspace, register) : textTarget(resource, register)
}

const maxTextBytes = 4096

function textTarget(name: string, register: Pick<Register, 'shared'>): LeaseTarget {
  if (typeof name === 'string' && isResourceName(name)) return resourceTarget(name, register)
  const bytes = Buffer.from(String(name))
  const isText = bytes.toString() === name && !name.includes('\0')
  if (!isText || bytes.length === 0 || bytes.length > maxTextBytes)
    throw new StintError('ARG_ERROR', `a resource is a text of 1 to ${maxTextBytes} bytes`)
  const key = `resource:${name}`
  // Where machines share a register, a key has a limited length; no plain name begins with a hash sign.
  return { key: register.shared ? `resource:#${md5(key)}` : keyOf(key), name }
}

/** A register that machines share names a workspace after the repository that it is a clone of. */
export function workspaceTarget(
  workspace: string | Workspace | undefined,
  { shared }: Pick<Register, 'shared'>,
): LeaseTarget & { path: string } {
  const { path, key } = typeof workspace === 'object' ? workspace : findWorkspace(workspace)
  return shared ? { path, ...shared.nameWorkspace(path) } : { path, key, name: path }
}

/** Tells from a record whether its claims are on a workspace or a resource. */
export const targetKind = ({ key, name }: Pick<LeaseTarget, 'key' | 'name'>): 'workspace' | 'resource' =>
  key.startsWith('resource:') || key === keyOf(`resource:${name}`) ? 'resource' : 'workspace'

/**
 * Paths as a user gives them, in the form of claims. In a register that machines share they are in lower
 * case, as some of the machines may not tell cases apart.
 */
export function pathsInTarget(
  { path, name }: LeaseTarget,
  { shared }: Pick<Register, 'shared'>,
  paths: readonly string[],
  from?: string,
): string[] {
  if (path === undefined)
    throw new StintError('ARG_ERROR', `${name} is a resource: it has no paths`, { hint: 'Claim all of it.' })
  return claimPaths(path, paths.map(withoutPattern), from, shared !== undefined)
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

/**
 * Paths in the form of claims: real, relative to the workspace, and in lower case with `fold`. Without it,
 * only names are in lower case whose directory does not tell cases apart. Relative paths start at `from`.
 */
export function claimPaths(
  workspace: string,
  paths: readonly string[],
  from: string = currentDirectory(),
  fold = false,
): string[] {
  return paths.map((path) => {
    if (path === '**' || path === '') return '**'
    const names = path.includes('\0') ? undefined : namesBelow(workspace, realPathOf(resolve(from, path)))
    if (names === undefined)
      throw new StintError('NAME_INVALID', `${path} is not in the workspace ${workspace}`, {
        hint: 'Claim a path in that workspace, or name another workspace.',
      })
    if (names.length === 0) return '**'
    return fold ? names.join('/').toLowerCase() : foldNames(workspace, names).join('/')
  })
}

/** Whether a path is in a workspace, under whatever name. Cheaper than the path in the form of claims. */
export const isInWorkspace = (workspace: string, path: string): boolean =>
  !path.includes('\0') && namesBelow(workspace, realPathOf(path)) !== undefined

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

/** Whether a directory is the top level of a git repository or worktree. */
export const isRepository = (path: string): boolean => existsSync(`${path}/.git`)

/** Directories that this process has found without git. */
const plainDirectories = new Set<string>()

/** Whether claims on this directory may conflict with those on directories above and below it. */
export function mayNest(path: string): boolean {
  // A directory that has become a repository meanwhile is noticed when there is a claim to compare with.
  if (!plainDirectories.has(path) && !isRepository(path)) plainDirectories.add(path)
  return plainDirectories.has(path)
}

/** Looks for `.git` in the directory and those above it, without running git. */
function gitTopLevel(start: string): string {
  let submodule: string | undefined
  for (let at = start; ; at = dirname(at)) {
    const kind = gitKind(`${at}/.git`)
    if (kind === 'alone') return at
    if (kind === 'submodule') submodule ??= at
    // A submodule outside its superproject is its own top level.
    if (at === dirname(at)) return submodule ?? start
  }
}

/** A submodule belongs to its superproject; a linked worktree, or any other `.git` file, stands alone. */
function gitKind(git: string): 'alone' | 'submodule' | undefined {
  // A stat costs more: the hook would have Node compile it for this alone.
  if (!existsSync(git)) return undefined
  if (existsSync(`${git}/.`)) return 'alone'
  // A directory that this user may not enter.
  if (ifPossible(() => statSync(git).isDirectory())) return 'alone'
  const gitDirectory = /^gitdir: (.*)$/m.exec(readSmallFile(git) ?? '')?.[1]
  if (gitDirectory === undefined) return undefined
  return isOfSubmodule(gitDirectory.replaceAll('\\', '/')) ? 'submodule' : 'alone'
}

/**
 * Git keeps a submodule in `modules` of its superproject, which may itself be a worktree; the directory of a
 * worktree of a submodule has `worktrees` after `modules`.
 */
const isOfSubmodule = (gitDirectory: string): boolean =>
  gitDirectory.includes('/modules/') &&
  gitDirectory.lastIndexOf('/worktrees/') < gitDirectory.lastIndexOf('/modules/')
