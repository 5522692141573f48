import { mkdirSync, renameSync, symlinkSync } from 'node:fs'
import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { World } from '../../test/support/world.ts'
import { findWorkspace } from './workspace.ts'

/** Repositories as git itself makes them. */
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

  /** Each must be one workspace with all that is in it. */
  expectWorkspace(of: string, expected: string): void {
    mkdirSync(join(of, 'a/b'), { recursive: true })
    for (const inner of ['.', 'a', 'a/b']) expect(findWorkspace(join(of, inner)).path).toBe(expected)
  }
}

test('a submodule belongs to its superproject, in a linked worktree to that worktree; worktrees stand alone', async () => {
  await using world = new GitWorld()
  const [library, project] = [world.repository('library'), world.repository('project')]
  world.git(project, 'submodule', 'add', '-q', library, 'sub')
  world.git(project, 'commit', '-q', '-m', 'sub')
  const worktree = join(world.tmp, 'worktree')
  world.git(project, 'worktree', 'add', '-q', worktree)
  world.git(worktree, 'submodule', 'update', '-q', '--init')
  const ofSubmodule = join(world.tmp, 'of-submodule')
  world.git(join(project, 'sub'), 'worktree', 'add', '-q', '--detach', ofSubmodule)
  world.expectWorkspace(project, project)
  world.expectWorkspace(join(project, 'sub'), project)
  world.expectWorkspace(worktree, worktree)
  world.expectWorkspace(join(worktree, 'sub'), worktree)
  world.expectWorkspace(ofSubmodule, ofSubmodule)
})

test('a git directory kept elsewhere, by --separate-git-dir or through a link, changes nothing', async () => {
  await using world = new GitWorld()
  const library = world.repository('library')
  const separate = world.repository('separate', `--separate-git-dir=${join(world.tmp, 'kept')}`)
  world.git(separate, 'submodule', 'add', '-q', library, 'sub')
  world.expectWorkspace(join(separate, 'sub'), separate)
  const linked = world.repository('linked')
  renameSync(join(linked, '.git'), join(world.tmp, 'moved'))
  symlinkSync(join(world.tmp, 'moved'), join(linked, '.git'))
  world.expectWorkspace(linked, linked)
  mkdirSync(join(world.tmp, 'modules'))
  const alone = world.repository('alone', `--separate-git-dir=${join(world.tmp, 'modules/kept')}`)
  world.expectWorkspace(alone, alone)
})
