import { existsSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { claimPaths, findWorkspace, wholeWorkspace, type Workspace } from '../lease/index.ts'
import { StintError } from '../base/errors/stint-error.ts'
import type { Scope } from './choices.ts'
import type { HookEvent, Tool } from './event.ts'
import { touchedPaths } from './touched-paths.ts'

/** Where a tool call will write, and what it must hold for that. */
export interface PlaceOfCall {
  workspace: Workspace
  needs: readonly string[] | 'anything'
}

export function placeOfCall(
  { cwd = process.cwd() }: Pick<HookEvent, 'cwd'>,
  tool: Tool,
  scope: Scope,
): PlaceOfCall {
  const here = findWorkspace(cwd)
  const files = tool.use === 'edit' ? touchedPaths(tool) : []
  const [first] = files
  if (first === undefined) return { workspace: here, needs: scope === 'paths' ? 'anything' : wholeWorkspace }
  const inside = pathsIn(here, files, cwd)
  if (inside !== undefined) return { workspace: here, needs: scope === 'paths' ? inside : wholeWorkspace }
  const there = repositoryAround(resolve(cwd, first)) ?? here
  const needs = scope === 'paths' ? (pathsIn(there, files, cwd) ?? 'anything') : wholeWorkspace
  return { workspace: there, needs }
}

/** Undefined if any of them lies elsewhere. */
function pathsIn({ path }: Workspace, files: readonly string[], cwd: string): string[] | undefined {
  try {
    return claimPaths(path, files, cwd)
  } catch (error) {
    if (error instanceof StintError && error.code === 'NAME_INVALID') return undefined
    throw error
  }
}

/** An agent may edit in a repository that it was not started in. A file in no repository, such as a note in /tmp, counts to where the agent works. */
function repositoryAround(file: string): Workspace | undefined {
  let directory = dirname(file)
  while (!existsSync(directory)) directory = dirname(directory)
  const workspace = findWorkspace(directory)
  return existsSync(join(workspace.path, '.git')) ? workspace : undefined
}
