import { existsSync, realpathSync } from 'node:fs'
import { dirname, isAbsolute } from 'node:path'
import { isWithin } from '../../base/fs/paths.ts'
import type { Installation } from '../inspect.ts'
import { onPath } from '../on-path.ts'
import { ownHook } from '../program.ts'

/**
 * What of these files comes with the project, if its own settings name them; undefined if none does. To try such a hook out would be to run what somebody else
 * has written, in a directory that nobody has trusted yet: the settings of a project are whoever's the project is.
 */
export function foreignFile(
  { agent, place, path }: Pick<Installation, 'agent' | 'place' | 'path'>,
  files: readonly string[],
  workspace: string,
): string | undefined {
  if (place === 'user') return undefined
  const own = realOf(ownHook())
  // Codex reads those of the checkout that a worktree was made from.
  const projects = agent === 'git' ? [workspace] : [workspace, dirname(dirname(path))]
  return files.find((file) => {
    const real = realOf((isAbsolute(file) ? file : onPath(file)) ?? '')
    const isOurs = dirname(real) === dirname(own) || real === realOf(process.execPath)
    return !isOurs && projects.some((project) => isWithin(real, realOf(project)))
  })
}

const realOf = (path: string): string => (existsSync(path) ? realpathSync.native(path) : path)
