import { join, resolve } from 'node:path'
import { askGit } from '../../base/process/ask-git.ts'
import { isWithin } from '../../base/fs/paths.ts'
import { StintError } from '../../base/errors/stint-error.ts'
import type { InstallPlace } from '../agents.ts'

/** The directory in which git looks for the hooks of a repository, or of all repositories of a user. */
export interface HooksDirectory {
  path: string
  /** The directory is part of the repository: everyone who clones it gets the hooks. */
  tracked: boolean
}

/** Asks git, from any directory of the repository; a submodule has hooks of its own. */
export function hooksDirectory(directory: string, place: InstallPlace): HooksDirectory {
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
    throw new StintError('NOT_FOUND', `${directory} is not in a git repository with a working tree`, {
      hint: 'Change to the repository to guard.',
    })
  const path = resolve(workspace, found)
  const [scope] = (gitSays(workspace, 'config', '--show-scope', '--get', 'core.hooksPath') ?? '').split('\t')
  if (scope === 'global' || scope === 'system')
    throw new StintError('NAME_TAKEN', `git looks for the hooks of all your repositories in ${path}`, {
      hint: 'Use --user to guard all of them, or run `git config --local core.hooksPath .git/hooks` to give this one its own.',
    })
  return { path, tracked: isTracked(workspace, path) }
}

function ofUser(directory: string): HooksDirectory {
  const path = gitSays(directory, 'config', '--global', '--path', '--get', 'core.hooksPath')
  if (path === undefined || path === '')
    throw new StintError(
      'NOT_FOUND',
      'git has no hooks directory for all your repositories: core.hooksPath is not set',
      {
        hint: 'Install the guard in each repository, or run `git config --global core.hooksPath DIR`; git then ignores the hooks in the repositories.',
      },
    )
  return { path: resolve(directory, path), tracked: false }
}

function isTracked(workspace: string, path: string): boolean {
  const common = resolve(workspace, gitSays(workspace, 'rev-parse', '--git-common-dir') ?? '.git')
  if (!isWithin(path, workspace) || isWithin(path, common)) return false
  return gitSays(workspace, 'check-ignore', '--quiet', join(path, 'pre-commit')) === undefined
}

/** The output of git; undefined if it fails. */
function gitSays(directory: string, ...args: string[]): string | undefined {
  const answer = askGit(directory, ...args)
  return 'text' in answer ? answer.text : undefined
}
