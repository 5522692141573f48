import { execFileSync } from 'node:child_process'
import { mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { World } from '../../test/support/world.ts'
import { thisMachine } from '../base/process/platform.ts'
import { chooseRemote, repositoryOf } from './repository.ts'
import { findWorkspace } from '../lease/index.ts'

let world: World
beforeEach(() => {
  world = new World()
  // Keeps the git settings of this machine and its user out.
  for (const name of ['HOME', 'XDG_CONFIG_HOME']) vi.stubEnv(name, world.tmp)
  vi.stubEnv('GIT_CONFIG_NOSYSTEM', '1')
})
afterEach(async () => {
  vi.unstubAllEnvs()
  await world[Symbol.asyncDispose]()
})

const git = (cwd: string, ...args: string[]): string =>
  execFileSync(
    'git',
    ['-c', 'user.name=a', '-c', 'user.email=a@b', '-c', 'protocol.file.allow=always', ...args],
    {
      cwd,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'pipe'],
    },
  )

/** A repository with a commit and, if given, remotes. */
function repository(name: string, remotes: Record<string, string> = {}): string {
  const path = join(world.tmp, name)
  mkdirSync(path, { recursive: true })
  git(path, 'init', '-q')
  git(path, 'commit', '-q', '--allow-empty', '-m', 'first')
  for (const [remote, url] of Object.entries(remotes)) git(path, 'remote', 'add', remote, url)
  return path
}

const keyOf = (path: string): string => repositoryOf(findWorkspace(path).path).key

test('two clones are one repository, whatever URL each was cloned from and wherever it lies', () => {
  const one = repository('one', { origin: 'git@example.com:team/app.git' })
  const two = repository('deep/down/two', { origin: 'https://token@example.com/team/app' })
  mkdirSync(join(two, 'src'))
  expect(repositoryOf(one)).toEqual({ key: 'git:example.com/team/app', name: 'example.com/team/app' })
  expect(keyOf(join(two, 'src'))).toBe(keyOf(one))
})

test('a linked worktree counts as a clone, and a submodule is a repository of its own', () => {
  const main = repository('main', { origin: 'https://example.com/team/app' })
  git(main, 'worktree', 'add', '-q', '../linked')
  expect(keyOf(join(world.tmp, 'linked'))).toBe('git:example.com/team/app')
  const library = repository('library', { origin: 'https://example.com/team/library' })
  git(main, 'submodule', '--quiet', 'add', library, 'vendor')
  expect(keyOf(join(main, 'vendor'))).toBe(`git:${thisMachine().host}:${library}`)
})

test("a URL that the user's settings rewrite counts as the rewritten one", () => {
  writeFileSync(join(world.tmp, '.gitconfig'), '[url "git@example.com:"]\n\tinsteadOf = work:\n')
  expect(keyOf(repository('rewritten', { origin: 'work:team/app' }))).toBe('git:example.com/team/app')
})

test('without origin, the first remote by name counts', () => {
  const remotes = { upstream: 'https://example.com/b', fork: 'https://example.com/a' }
  expect(keyOf(repository('forked', remotes))).toBe('git:example.com/a')
  expect(chooseRemote('origin\thttps://h/x (fetch) [blob:none]\norigin\thttps://h/y (push)\n')).toBe(
    'https://h/x',
  )
  expect(chooseRemote('')).toBeUndefined()
})

test('a remote in a directory is identified by its real path on this machine', () => {
  git(world.tmp, 'init', '-q', '--bare', 'bare.git')
  symlinkSync('bare.git', join(world.tmp, 'link.git'))
  const key = `git:${thisMachine().host}:${join(world.tmp, 'bare')}`
  expect(keyOf(repository('absolute', { origin: join(world.tmp, 'bare.git') }))).toBe(key)
  expect(keyOf(repository('by-url', { origin: `file://${world.tmp}/link.git` }))).toBe(key)
  expect(keyOf(repository('relative', { origin: '../bare' }))).toBe(key)
})

test.each([
  ['file://host/a/b.git', '/host/a/b'],
  ['file:///a%2Fb', '/a/b'],
  ['file:///a%zz', '/a%zz'],
])('the remote %s is the directory %s, as git reads it', (url, path) => {
  expect(repositoryOf(repository('odd', { origin: url })).key).toBe(`git:${thisMachine().host}:${path}`)
})

test('without a remote, or without git, the repository is the directory on this machine', () => {
  const alone = repository('alone')
  const plain = join(world.tmp, 'plain')
  mkdirSync(plain)
  for (const path of [alone, plain])
    expect(repositoryOf(path)).toEqual({ key: `dir:${thisMachine().host}:${path}`, name: path })
})

test('the variables that git sets inside a hook do not mislead the lookup', () => {
  const one = repository('hooked', { origin: 'https://example.com/one' })
  vi.stubEnv('GIT_DIR', join(repository('other', { origin: 'https://example.com/two' }), '.git'))
  expect(keyOf(one)).toBe('git:example.com/one')
})

test('where git fails, the lookup fails: a guess could separate two clones', () => {
  const broken = repository('broken', { origin: 'https://example.com/one' })
  rmSync(join(broken, '.git/HEAD'))
  expect(() => repositoryOf(broken)).toThrow(expect.objectContaining({ code: 'PERMISSION_DENIED', exit: 7 }))
  const unseen = repository('unseen')
  vi.stubEnv('PATH', join(world.tmp, 'empty'))
  const hint = expect.stringContaining('--resource') as string
  expect(() => repositoryOf(unseen)).toThrow(expect.objectContaining({ code: 'NOT_FOUND', exit: 5, hint }))
})
