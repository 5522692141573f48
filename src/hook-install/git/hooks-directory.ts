import { join, resolve } from 'node:path'
import { askGit } from '../../base/process/ask-git.ts'
import { isWithin } from '../../base/fs/paths.ts'
import { StintError } from '../../base/errors/stint-error.ts'
import type { Place } from '../install-scope.ts'

/** Where git looks for the hooks of a repository, or of all of them. */
export interface HooksDirectory {
  path: string
  /** Files that git itself keeps: whoever clones the repository gets them, too. */
  tracked: boolean
}

/** `directory` is any in the repository: a submodule has hooks of its own. */
export function hooksDirectory(directory: string, place: Place): HooksDirectory {
  if (place === 'local')
    throw new StintError(
      'ARG_ERROR',
      'git has no --local hooks: the hooks of a repository are already yours alone',
    )
  return place === 'user' ? ofUser(directory) : ofRepository(directory)
}

function ofRepository(directory: string): HooksDirectory {
  const workspace = gitSays(directory, 'rev-parse', '--show-toplevel')
  const found = workspace && gitSays(workspace, 'rev-parse', '--git-path', 'hooks')
  if (!found)
    throw new StintError('NOT_FOUND', `${directory} is not in a git repository with files`, {
      hint: 'Change to the repository to guard.',
    })
  const path = resolve(workspace, found)
  const [scope] = (gitSays(workspace, 'config', '--show-scope', '--get', 'core.hooksPath') ?? '').split('\t')
  if (scope === 'global' || scope === 'system')
    throw new StintError('NAME_TAKEN', `git looks for the hooks of all your repositories in ${path}`, {
      hint: 'Use --user to guard all of them, or `git config --local core.hooksPath .git/hooks` to let this one have its own.',
    })
  return { path, tracked: isTracked(workspace, path) }
}

function ofUser(directory: string): HooksDirectory {
  const path = gitSays(directory, 'config', '--global', '--path', '--get', 'core.hooksPath')
  if (path === undefined || path === '')
    throw new StintError('NOT_FOUND', 'git has no directory for the hooks of all your repositories', {
      hint: 'Install it in each repository, or set one with `git config --global core.hooksPath DIR`: hooks in the repositories are then no longer run.',
    })
  return { path: resolve(directory, path), tracked: false }
}

function isTracked(workspace: string, path: string): boolean {
  const common = resolve(workspace, gitSays(workspace, 'rev-parse', '--git-common-dir') ?? '.git')
  if (!isWithin(path, workspace) || isWithin(path, common)) return false
  return gitSays(workspace, 'check-ignore', '--quiet', join(path, 'pre-commit')) === undefined
}

/** Undefined if git refuses to say it. */
function gitSays(directory: string, ...args: string[]): string | undefined {
  const answer = askGit(directory, ...args)
  return 'text' in answer ? answer.text : undefined
}
