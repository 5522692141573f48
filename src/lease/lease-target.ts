import { StintError } from '../base/errors/stint-error.ts'
import type { Register } from './register.ts'
import { claimPaths, computeWorkspaceHash, findWorkspace, plainPath, type Workspace } from './workspace.ts'

/** What a lease is on: a workspace, or anything else that has a name. */
export interface LeaseTarget {
  /** By which a register knows it. */
  key: string
  /** What the key stands for: a path, a repository, a resource's name. */
  name: string
  /** Where it is on this machine; a resource is nowhere. */
  path?: string
}

/** A resource's name: what all who use it agree on. It cannot be taken for a path. */
const resourcePattern = /^[A-Za-z0-9][A-Za-z0-9._:/@+-]{0,199}$/

export function resourceTarget(name: string, { shared }: Pick<Register, 'shared'>): LeaseTarget {
  if (!resourcePattern.test(name)) {
    throw new StintError('ARG_ERROR', `${JSON.stringify(String(name).slice(0, 210))} cannot be a resource`, {
      hint: 'A resource is named like deploy:prod: a letter or digit, then at most 199 of letters, digits and . _ : / @ + -',
    })
  }
  const key = `resource:${name}`
  // Where files keep it, a key is the name of a directory.
  return { key: shared ? key : computeWorkspaceHash(key), name }
}

/** Kept where other machines see it, a workspace is what it is a clone of. */
export function workspaceTarget(
  workspace: string | Workspace | undefined,
  { shared }: Pick<Register, 'shared'>,
): LeaseTarget & { path: string } {
  const { path, key } = typeof workspace === 'object' ? workspace : findWorkspace(workspace)
  return shared ? { path, ...shared.nameWorkspace(path) } : { path, key, name: path }
}

/** Paths in it, as claims name them. Between machines no case is told apart: to some of them it makes no difference. */
export function pathsInTarget(
  { path, name }: LeaseTarget,
  { shared }: Pick<Register, 'shared'>,
  paths: readonly string[],
  from?: string,
): string[] {
  if (path === undefined)
    throw new StintError('ARG_ERROR', `${name} is a resource: it has no paths`, { hint: 'Claim all of it.' })
  return claimPaths(path, paths.map(plainPath), from, shared === undefined ? undefined : true)
}

/** Which of the two a record is about, from what a register has. */
export const targetKind = (key: string, name: string): 'workspace' | 'resource' =>
  key.startsWith('resource:') || key === computeWorkspaceHash(`resource:${name}`) ? 'resource' : 'workspace'
