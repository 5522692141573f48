import { execFileSync } from 'node:child_process'
import { linkSync, mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { World } from '../../test/support/world.ts'
import {
  fileClaim,
  findWorkspace,
  isOutside,
  pathsInTarget,
  workspaceOf,
  workspaceTarget,
} from './workspace.ts'

/** A world with repositories made by git. */
class GitWorld extends World {
  git(cwd: string, ...args: string[]): void {
    const settings = ['user.name=a', 'user.email=a@b', 'protocol.file.allow=always']
    execFileSync('git', [...settings.flatMap((each) => ['-c', each]), ...args], { cwd, stdio: 'pipe' })
  }

  repository(name: string, ...flags: string[]): string {
    const path = join(this.tmp, name)
    this.git(this.tmp, 'init', '-q', ...flags, path)
    this.git(path, 'commit', '-q', '--allow-empty', '-m', 'first')
    return path
  }

  directory(name: string): string {
    const path = join(this.tmp, name)
    mkdirSync(path, { recursive: true })
    return path
  }
}

let world: GitWorld
beforeEach(() => {
  world = new GitWorld()
})
afterEach(() => world[Symbol.asyncDispose]())

/** The distinct workspaces of a directory and those below it; a single one is expected. */
function workspacesIn(directory: string): string[] {
  mkdirSync(join(directory, 'a/b'), { recursive: true })
  const paths = ['.', 'a', 'a/b', 'a/missing/file'].map((inner) => workspaceOf(join(directory, inner)).path)
  return [...new Set(paths)]
}

test('a submodule, a nested repository and a linked worktree stand alone, wherever they lie', () => {
  const [library, project] = [world.repository('library'), world.repository('project')]
  world.git(project, 'submodule', 'add', '-q', library, 'sub')
  world.git(project, 'commit', '-q', '-m', 'sub')
  const inside = join(project, '.claude/worktrees/x')
  const beside = join(world.tmp, 'beside')
  for (const worktree of [inside, beside]) world.git(project, 'worktree', 'add', '-q', '--detach', worktree)
  world.git(beside, 'submodule', 'update', '-q', '--init')
  const vendored = world.repository('project/vendor/lib')
  for (const root of [project, join(project, 'sub'), inside, beside, join(beside, 'sub'), vendored])
    expect(workspacesIn(root)).toEqual([root])
})

test('a git directory elsewhere, by --separate-git-dir or through a link, makes no difference', () => {
  const separate = world.repository('separate', `--separate-git-dir=${join(world.tmp, 'kept')}`)
  expect(workspacesIn(separate)).toEqual([separate])
  const linked = world.repository('linked')
  renameSync(join(linked, '.git'), join(world.tmp, 'moved'))
  symlinkSync(join(world.tmp, 'moved'), join(linked, '.git'))
  expect(workspacesIn(linked)).toEqual([linked])
})

test('everything outside of all repositories is one workspace, in which claims are absolute paths', () => {
  const [one, two] = [world.directory('one'), world.directory('two/below')]
  const [first, second] = [findWorkspace(one), findWorkspace(two)]
  expect(first.key).toBe(second.key)
  expect([first, second].map(isOutside)).toEqual([true, true])
  expect([first.whole, second.whole]).toEqual([[one], [two]])
  expect(fileClaim(join(one, 'notes.md'))).toMatchObject({ path: join(one, 'notes.md') })
  expect(workspaceTarget(one, {})).toMatchObject({ key: first.key, name: '/', path: one })
  expect(workspaceOf('/')).toMatchObject({ path: '/', whole: ['**'] })
})

test('a repository in a plain directory is no part of it, and a new one is seen at once', () => {
  const above = world.directory('code')
  const app = world.repository('code/app')
  expect(workspaceOf(join(app, 'src/new.ts'))).toMatchObject({ path: app, whole: ['**'] })
  const next = world.directory('code/next')
  expect(isOutside(workspaceOf(join(next, 'file')))).toBe(true)
  world.git(above, 'init', '-q', next)
  expect(workspaceOf(join(next, 'file')).path).toBe(next)
})

test('a path that is missing belongs to the workspace of its nearest parent, through links as well', () => {
  const repository = world.repository('repository')
  const [plain, gone] = [world.directory('plain'), world.directory('repository/gone')]
  rmSync(gone, { recursive: true })
  expect(workspaceOf(join(gone, 'deep/file')).path).toBe(repository)
  symlinkSync(join(repository, 'made-later'), join(plain, 'dangling'))
  symlinkSync(repository, join(plain, 'link'))
  expect(workspaceOf(join(plain, 'dangling')).path).toBe(repository)
  expect(fileClaim(join(plain, 'link/src/a.ts'))).toMatchObject({
    workspace: { path: repository },
    path: 'src/a.ts',
  })
  symlinkSync(join(plain, 'outside.txt'), join(repository, 'leaves'))
  expect(fileClaim(join(repository, 'leaves'))).toMatchObject({ path: join(plain, 'outside.txt') })
  expect(() => findWorkspace(gone)).toThrow(expect.objectContaining({ code: 'NOT_FOUND' }))
})

test('a repository that contains the home or is the home claims only what no other repository has', () => {
  const home = world.repository('home')
  const project = world.repository('home/project')
  expect(workspaceOf(join(home, '.bashrc')).path).toBe(home)
  expect(workspaceOf(join(project, 'a')).path).toBe(project)
})

test('a path is claimed only in its own workspace, and the error names the right one', () => {
  const outer = world.repository('outer')
  const inner = world.repository('outer/inner')
  const target = workspaceTarget(outer, {})
  expect(pathsInTarget(target, {}, ['src/**', 'a/b', '**'], outer)).toEqual(['src', 'a/b', '**'])
  expect(() => pathsInTarget(target, {}, ['inner/f'], outer)).toThrow(
    expect.objectContaining({ code: 'NAME_INVALID', hint: expect.stringContaining(inner) as string }),
  )
  expect(() => pathsInTarget(target, {}, [world.tmp], outer)).toThrow('is not in the workspace')
  expect(() => pathsInTarget(target, {}, ['*.ts'], outer)).toThrow('is a pattern')
  const plain = workspaceTarget(world.directory('plain'), {})
  expect(pathsInTarget(plain, {}, ['x', '**'], plain.path)).toEqual([join(plain.path, 'x'), plain.path])
  expect(() => pathsInTarget(plain, {}, ['..'], plain.path)).toThrow('is not in the workspace')
})

test('a register that machines share names repositories itself, and one place outside of them', () => {
  const shared = { nameWorkspace: (path: string) => ({ key: `dir:${path}`, name: path }) }
  const repository = world.repository('Repository')
  expect(workspaceTarget(repository, { shared }).key).toBe(`dir:${repository}`)
  expect(workspaceTarget(dirname(repository), { shared })).toMatchObject({ key: 'dir:/', name: '/' })
  const target = workspaceTarget(repository, { shared })
  expect(pathsInTarget(target, { shared }, ['SRC/A'], repository)).toEqual(['src/a'])
})

// A hard link with the other case looks like a file system without case: both names are one file.
test('where a directory does not tell cases apart, a file outside of repositories has one claim in any case', () => {
  const directory = world.directory('Plain')
  writeFileSync(join(directory, 'f'), '')
  linkSync(join(directory, 'f'), join(directory, 'F'))
  const claims = ['f', 'F', 'New', 'NEW'].map((name) => fileClaim(join(directory, name)).path)
  expect(new Set(claims)).toEqual(new Set([join(directory, 'f'), join(directory, 'new')]))
})
