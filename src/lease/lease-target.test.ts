import { mkdirSync, renameSync, symlinkSync } from 'node:fs'
import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { World } from '../../test/support/world.ts'
import { findWorkspace } from './lease-target.ts'

/** A world with repositories made by git. */
class GitWorld extends World {
  git(cwd: string, ...args: string[]): void {
    const config = ['user.name=a', 'user.email=a@b', 'protocol.file.allow=always'].flatMap((each) => [
      '-c',
      each,
    ])
    execFileSync('git', [...config, ...args], { cwd, stdio: 'pipe' })
  }

  repository(name: string, ...flags: string[]): string {
    const path = join(this.tmp, name)
    this.git(this.tmp, 'init', '-q', ...flags, path)
    this.git(path, 'commit', '-q', '--allow-empty', '-m', 'first')
    return path
  }
}

/** The distinct workspaces of a directory and those below it; a single one is expected. */
function workspacesIn(directory: string): string[] {
  mkdirSync(join(directory, 'a/b'), { recursive: true })
  const found = ['.', 'a', 'a/b'].map((inner) => findWorkspace(join(directory, inner)).path)
  return [...new Set(found)]
}

test('a submodule belongs to its superproject or the worktree around it; a linked worktree stands alone', async () => {
  await using world = new GitWorld()
  const [library, project] = [world.repository('library'), world.repository('project')]
  world.git(project, 'submodule', 'add', '-q', library, 'sub')
  world.git(project, 'commit', '-q', '-m', 'sub')
  const worktree = join(world.tmp, 'worktree')
  world.git(project, 'worktree', 'add', '-q', worktree)
  world.git(worktree, 'submodule', 'update', '-q', '--init')
  const ofSubmodule = join(world.tmp, 'of-submodule')
  world.git(join(project, 'sub'), 'worktree', 'add', '-q', '--detach', ofSubmodule)
  expect(workspacesIn(project)).toEqual([project])
  expect(workspacesIn(join(project, 'sub'))).toEqual([project])
  expect(workspacesIn(worktree)).toEqual([worktree])
  expect(workspacesIn(join(worktree, 'sub'))).toEqual([worktree])
  expect(workspacesIn(ofSubmodule)).toEqual([ofSubmodule])
})

test('a git directory elsewhere, by --separate-git-dir or through a link, makes no difference', async () => {
  await using world = new GitWorld()
  const library = world.repository('library')
  const separate = world.repository('separate', `--separate-git-dir=${join(world.tmp, 'kept')}`)
  world.git(separate, 'submodule', 'add', '-q', library, 'sub')
  expect(workspacesIn(join(separate, 'sub'))).toEqual([separate])
  const linked = world.repository('linked')
  renameSync(join(linked, '.git'), join(world.tmp, 'moved'))
  symlinkSync(join(world.tmp, 'moved'), join(linked, '.git'))
  expect(workspacesIn(linked)).toEqual([linked])
  mkdirSync(join(world.tmp, 'modules'))
  const alone = world.repository('alone', `--separate-git-dir=${join(world.tmp, 'modules/kept')}`)
  expect(workspacesIn(alone)).toEqual([alone])
})
