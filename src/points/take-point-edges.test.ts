import { execFileSync } from 'node:child_process'
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { delimiter, join } from 'node:path'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { PointWorld } from '../../test/support/point-world.ts'
import { findStore, takePoint } from './index.ts'

let world: PointWorld
beforeEach(() => {
  world = new PointWorld()
})
afterEach(async () => {
  vi.unstubAllEnvs()
  await world[Symbol.asyncDispose]()
})

const names = (tree: string): string[] =>
  world.storeGit('ls-tree', '-r', '-z', '--name-only', tree).split('\0').slice(0, -1)
const kept = (tree: string, path: string): string => world.storeGit('cat-file', 'blob', `${tree}:${path}`)

test("stint's home in the worktree is in no point, and in no undo", async () => {
  world.env.STINT_HOME = join(world.repo, '.stint')
  vi.stubEnv('STINT_HOME', world.env.STINT_HOME)
  world.write({ 'a.txt': 'a\n' })
  world.commit()
  await world.turn('claude-1', () => world.write({ 'a.txt': 'b\n' }))
  const turn = await world.turn('claude-1', () => world.write({ 'a.txt': 'c\n' }))
  const { tree } = await world.point('grant', 'claude-1')
  expect(world.storeGit('ls-tree', '-r', '--name-only', tree)).toBe('a.txt\n')
  await world.undo([turn.id])
  expect(world.read('a.txt')).toBe('b\n')
})

test('a repository without a commit has points, and so has one with a detached HEAD', async () => {
  world.write({ 'a.txt': 'a\n' })
  const first = await world.point('grant')
  expect(first.head).toBeNull()
  expect(names(first.tree)).toEqual(['a.txt'])
  world.commit()
  world.git('checkout', '-q', '--detach')
  const second = await world.point('grant')
  expect(second.head).toBe(world.git('rev-parse', 'HEAD').trim())
  expect(second.tree).toBe(first.tree)
})

test('a linked worktree has a store of its own', async () => {
  world.write({ 'a.txt': 'a\n' })
  world.commit()
  const linked = join(world.tmp, 'linked')
  world.git('worktree', 'add', '-q', linked)
  writeFileSync(join(linked, 'b.txt'), 'b\n')
  const outcome = await takePoint({ root: linked, kind: 'grant', sessionId: 'one' })
  expect(outcome.outcome).toBe('taken')
  expect(findStore(world.repo)).toBeUndefined()
  expect(names(outcome.outcome === 'taken' ? outcome.point.tree : '')).toEqual(['a.txt', 'b.txt'])
})

test('submodules and nested repositories are not kept, and that is said', async () => {
  const library = join(world.tmp, 'library')
  mkdirSync(library)
  world.gitIn(library, 'init', '-q')
  writeFileSync(join(library, 'x'), 'x')
  world.gitIn(library, 'add', 'x')
  world.gitIn(library, '-c', 'user.name=A', '-c', 'user.email=a@b', 'commit', '-q', '-m', 'x')
  world.write({ 'a.txt': 'a\n' })
  world.git('-c', 'protocol.file.allow=always', 'submodule', '--quiet', 'add', library, 'sub')
  world.commit()
  mkdirSync(join(world.repo, 'nested'))
  world.gitIn(join(world.repo, 'nested'), 'init', '-q')
  world.write({ 'nested/n.txt': 'n\n' })
  const { tree, left_out } = await world.point('grant')
  expect(names(tree)).toEqual(['.gitmodules', 'a.txt'])
  expect(left_out.map(({ path, why }) => `${path} ${why}`).sort()).toEqual([
    'nested/ another repository',
    'sub/ another repository',
  ])
})

test('links, modes, empty and binary files, and any name are kept', async () => {
  const odd = 'q "\n\' \\ ü'
  world.write({
    empty: '',
    binary: Buffer.from([0, 255, 13, 10]),
    [odd]: 'odd\n',
    ':top': 'colon\n',
    run: '#!\n',
  })
  writeFileSync(Buffer.concat([Buffer.from(`${world.repo}/`), Buffer.from([0xff, 0x41])]), 'not UTF-8')
  chmodSync(join(world.repo, 'run'), 0o755)
  world.link('link', '/nowhere')
  const { tree } = await world.point('grant')
  const listed = world.storeGit('ls-tree', '-r', '-z', tree)
  expect(listed.split('\0').filter((line) => /^(120000|100755)/.test(line)).length).toBe(2)
  expect(names(tree).length).toBe(7)
  expect(names(tree)).toContain(odd)
  expect(names(tree)).toContain(':top')
})

test('an untracked file over 10 MiB is left out, also one that grows, and a tracked one is kept', async () => {
  const large = Buffer.alloc((10 << 20) + 1)
  world.write({ 'tracked.bin': large })
  world.commit()
  world.write({ 'untracked.bin': large, 'grows.bin': 'small' })
  const first = await world.point('grant')
  expect(names(first.tree)).toEqual(['grows.bin', 'tracked.bin'])
  large[0] = 1
  world.write({ 'grows.bin': large, 'tracked.bin': large })
  const second = await world.point('end')
  expect(names(second.tree)).toEqual(['tracked.bin'])
  expect(second.left_out.map(({ path }) => path).sort()).toEqual(['grows.bin', 'untracked.bin'])
})

test.each([
  ['autocrlf', (): void => void world.git('config', 'core.autocrlf', 'true'), ''],
  ['eol=crlf', (): void => {}, '*.txt text eol=crlf\n'],
  ['the old crlf', (): void => {}, '*.txt crlf=input\n'],
  ['ident', (): void => {}, '*.txt ident\n'],
  ['UTF-16', (): void => {}, '*.txt text working-tree-encoding=UTF-16LE\n'],
  [
    'a filter such as that of LFS',
    (): void => {
      world.git('config', 'filter.shout.clean', 'tr a-z A-Z')
      world.git('config', 'filter.shout.smudge', 'tr A-Z a-z')
    },
    '*.txt filter=shout\n',
  ],
])('contents are kept as they are on disk with %s', async (_, configure, attributes) => {
  configure()
  const encoding = attributes.includes('UTF-16') ? 'utf16le' : 'utf8'
  const content = Buffer.from('$Id$ one\r\ntwo\r\n', encoding)
  world.write({ '.gitattributes': attributes, 'a.txt': content, 'sub/b.txt': content })
  world.commit()
  world.write({ 'sub/c.txt': content })
  const { tree } = await world.point('grant')
  for (const path of ['a.txt', 'sub/b.txt', 'sub/c.txt'])
    expect(kept(tree, path)).toBe(readFileSync(join(world.repo, path), 'utf8'))
})

test.each([
  ['a sparse checkout', ['sparse-checkout', 'set', '--no-cone', '/a/'], ['a/1', 'a/2']],
  ['a sparse index', ['sparse-checkout', 'set', '--cone', '--sparse-index', 'a'], ['a/1', 'a/2']],
  ['a split index', ['update-index', '--split-index'], ['a/1', 'a/2', 'b/1']],
  ['files assumed unchanged', ['update-index', '--assume-unchanged', 'a/2'], ['a/1', 'a/2', 'b/1']],
  ['files with skip-worktree', ['update-index', '--skip-worktree', 'a/2'], ['a/1', 'a/2', 'b/1']],
  ['an untracked cache', ['update-index', '--force-untracked-cache'], ['a/1', 'a/2', 'b/1']],
  ['index version 4', ['update-index', '--index-version', '4'], ['a/1', 'a/2', 'b/1']],
])('with %s a point has what is on disk', async (_, command, expected) => {
  world.write({ 'a/1': '1\n', 'a/2': '2\n', 'b/1': '1\n' })
  world.commit()
  world.git(...command)
  world.write({ 'a/2': 'changed\n' })
  const state = world.gitState()
  const { tree } = await world.point('grant')
  expect(names(tree)).toEqual(expected)
  expect(kept(tree, 'a/2')).toBe('changed\n')
  expect(world.gitState()).toEqual(state)
})

test('a monitor of file changes that misses one does not hide it from a point', async () => {
  world.write({ 'a.txt': 'a\n', 'b.txt': 'b\n' })
  world.commit()
  const monitor = join(world.tmp, 'monitor')
  writeFileSync(monitor, '#!/bin/sh\nprintf "token\\0"\n', { mode: 0o755 })
  world.git('config', 'core.fsmonitor', monitor)
  world.git('status')
  world.git('status')
  world.write({ 'a.txt': 'changed\n' })
  const { tree } = await world.point('grant')
  expect(kept(tree, 'a.txt')).toBe('changed\n')
})

test('files that are only intended to be added, staged or conflicting are kept as they are on disk', async () => {
  world.write({ 'a.txt': 'a\n', 'both.txt': 'base\n' })
  world.commit()
  world.git('checkout', '-q', '-b', 'other')
  world.write({ 'both.txt': 'other\n' })
  world.commit()
  world.git('checkout', '-q', 'main')
  world.write({ 'both.txt': 'main\n' })
  world.commit()
  expect(() => world.git('merge', '-q', 'other')).toThrow('merge')
  world.write({ 'intended.txt': 'i\n', 'a.txt': 'staged\n' })
  world.git('add', '-N', 'intended.txt')
  world.git('add', 'a.txt')
  world.write({ 'a.txt': 'on disk\n' })
  const { tree } = await world.point('grant')
  expect(names(tree)).toEqual(['a.txt', 'both.txt', 'intended.txt'])
  expect(kept(tree, 'a.txt')).toBe('on disk\n')
  expect(kept(tree, 'both.txt')).toBe(world.read('both.txt'))
  expect(kept(tree, 'intended.txt')).toBe('i\n')
})

test('a repository with SHA-256 has points', async () => {
  await world[Symbol.asyncDispose]()
  world = new PointWorld({ init: ['--object-format=sha256'] })
  world.write({ 'a.txt': 'a\n' })
  world.commit()
  const turn = await world.turn('one', () => world.write({ 'a.txt': 'b\n' }))
  expect(turn.tree).toMatch(/^[0-9a-f]{64}$/)
  await world.undo([turn.id])
  expect(world.read('a.txt')).toBe('a\n')
})

test('variables that lead git elsewhere, as in a hook of git, change nothing', async () => {
  world.write({ 'a.txt': 'a\n' })
  world.commit()
  const elsewhere = join(world.tmp, 'elsewhere')
  mkdirSync(elsewhere)
  world.gitIn(elsewhere, 'init', '-q')
  const state = world.gitState(elsewhere)
  for (const [name, value] of Object.entries({
    GIT_DIR: join(elsewhere, '.git'),
    GIT_WORK_TREE: elsewhere,
    GIT_INDEX_FILE: join(elsewhere, 'index'),
    GIT_OBJECT_DIRECTORY: join(elsewhere, 'objects'),
    GIT_LITERAL_PATHSPECS: '0',
  }))
    vi.stubEnv(name, value)
  const { tree, head } = await world.point('grant')
  world.write({ 'b.txt': 'b\n' })
  const { tree: second } = await world.point('end')
  vi.stubEnv('GIT_DIR', undefined)
  for (const name of ['GIT_WORK_TREE', 'GIT_INDEX_FILE', 'GIT_OBJECT_DIRECTORY']) vi.stubEnv(name, undefined)
  expect(head).toBe(world.git('rev-parse', 'HEAD').trim())
  expect([names(tree), names(second)]).toEqual([['a.txt'], ['a.txt', 'b.txt']])
  expect(world.gitState(elsewhere)).toEqual(state)
})

test('excludes of the user and of the repository count, and a tracked file counts although it is ignored', async () => {
  const excludes = join(world.tmp, 'excludes')
  writeFileSync(excludes, '*.global\n')
  world.git('config', '--global', 'core.excludesFile', excludes)
  world.write({ '.gitignore': '*.tree\n', 'forced.tree': 'x\n' })
  world.git('add', '-f', 'forced.tree', '.gitignore')
  world.git('commit', '-q', '-m', 'x')
  world.write({ 'a.global': '', 'a.local': '', 'a.tree': '', 'b.txt': 'b\n' })
  mkdirSync(join(world.repo, '.git/info'), { recursive: true })
  writeFileSync(join(world.repo, '.git/info/exclude'), '*.local\n')
  const { tree } = await world.point('grant')
  expect(names(tree)).toEqual(['.gitignore', 'b.txt', 'forced.tree'])
})

test('excludes and attributes behind a link count, too, as people keep such files elsewhere', async () => {
  const [excludes, attributes] = ['excludes', 'attributes'].map((name) => join(world.tmp, name)) as [
    string,
    string,
  ]
  writeFileSync(excludes, '*.secret\n')
  writeFileSync(attributes, '* text=auto eol=crlf\n')
  mkdirSync(join(world.env.XDG_CONFIG_HOME ?? '', 'git'), { recursive: true })
  symlinkSync(attributes, join(world.env.XDG_CONFIG_HOME ?? '', 'git/attributes'))
  mkdirSync(join(world.repo, '.git/info'), { recursive: true })
  rmSync(join(world.repo, '.git/info/exclude'), { force: true })
  symlinkSync(excludes, join(world.repo, '.git/info/exclude'))
  world.write({ 'a.txt': 'a\r\n', 'b.secret': 'b\n' })
  world.commit()
  const { tree } = await world.point('grant')
  expect(names(tree)).toEqual(['a.txt'])
  expect(kept(tree, 'a.txt')).toBe('a\r\n')
})

test('an edit of the same size in the same moment as the last commit is seen', async () => {
  world.write({ 'a.txt': 'one\n' })
  world.commit()
  const { mtime } = statSync(join(world.repo, 'a.txt'))
  world.write({ 'a.txt': 'two\n' })
  utimesSync(join(world.repo, 'a.txt'), mtime, mtime)
  const { tree } = await world.point('grant')
  expect(kept(tree, 'a.txt')).toBe('two\n')
})

test('locks that git has left, of the user and of the store, stop no point', async () => {
  world.write({ 'a.txt': 'a\n' })
  world.commit()
  writeFileSync(join(world.repo, '.git/index.lock'), '')
  await world.point('grant')
  writeFileSync(findStore(world.repo)?.file('git/index.lock') ?? '', '')
  world.write({ 'a.txt': 'b\n' })
  const { tree } = await world.point('end')
  expect(kept(tree, 'a.txt')).toBe('b\n')
  rmSync(join(world.repo, '.git/index.lock'))
})

test('a pipe where a file was is left out, and the rest is kept', async () => {
  world.write({ 'a.txt': 'a\n', 'b.txt': 'b\n' })
  world.commit()
  rmSync(join(world.repo, 'a.txt'))
  execFileSync('mkfifo', [join(world.repo, 'a.txt')])
  world.write({ 'b.txt': 'B\n' })
  const { tree } = await world.point('grant')
  expect(kept(tree, 'b.txt')).toBe('B\n')
})

/** Puts a program named git before the real one. */
function fakeGit(script: string): void {
  const bin = join(world.tmp, 'bin')
  mkdirSync(bin)
  writeFileSync(join(bin, 'git'), `#!/bin/sh\n${script}\n`, { mode: 0o755 })
  vi.stubEnv('PATH', `${bin}${delimiter}${process.env.PATH ?? ''}`)
}

const attempt = (more: object = {}) =>
  takePoint({ root: world.repo, kind: 'grant', sessionId: 'one', ...more })

test('with a git that is too old there are no points, which is said once', async () => {
  const real = execFileSync('sh', ['-c', 'command -v git'], { encoding: 'utf8' }).trim()
  fakeGit(`for word; do [ "$word" = version ] && echo git version 2.30.1 && exit; done; exec ${real} "$@"`)
  expect(await attempt()).toMatchObject({
    outcome: 'off',
    isNews: true,
    reason: 'restore points need git 2.39 or newer, and this is git version 2.30.1',
  })
  expect(await attempt()).toMatchObject({ outcome: 'off', isNews: false })
})

test('without git there are no points, which is said once', async () => {
  vi.stubEnv('PATH', join(world.tmp, 'nothing'))
  expect(await attempt()).toMatchObject({ outcome: 'off', isNews: true, reason: 'there is no git on PATH' })
  expect(await attempt()).toMatchObject({ outcome: 'off', isNews: false })
})

test('a git that takes too long is stopped, and no point is taken any more until a sweep', async () => {
  world.write({ 'a.txt': 'a\n' })
  world.commit()
  await world.point('grant')
  fakeGit('exec sleep 60')
  const outcome = await attempt({ budgetMs: 300 })
  expect(outcome).toMatchObject({
    outcome: 'off',
    isNews: true,
    reason: expect.stringMatching(/^git \S+ took too long$/),
  })
  expect(await attempt()).toMatchObject({ outcome: 'off', isNews: false })
})

test('a repository that contains the home directory has no points, which is said once', async () => {
  vi.stubEnv('HOME', join(world.repo, 'user'))
  expect(await attempt()).toMatchObject({ outcome: 'off', isNews: true })
  expect(await attempt()).toMatchObject({ outcome: 'off', isNews: false })
})

test('a tree with too many files has no points, which is said once', async () => {
  world.write({ 'a.txt': 'a\n' })
  world.commit()
  const index = readFileSync(join(world.repo, '.git/index'))
  index.writeUInt32BE(200_001, 8)
  // A split index is not read for its contents, only counted.
  writeFileSync(join(world.repo, '.git/index'), Buffer.concat([index, Buffer.from('link\0\0\0\0')]))
  const outcome = await attempt()
  expect(outcome).toMatchObject({ outcome: 'off', isNews: true })
  expect(outcome.outcome === 'off' && outcome.reason).toMatch('200001 files')
})

test('a directory without git has no points, and nothing is made for it', async () => {
  const plain = join(world.tmp, 'plain')
  mkdirSync(plain)
  expect(await attempt({ root: plain })).toMatchObject({ outcome: 'off', isNews: false })
  expect(existsSync(join(world.env.STINT_HOME ?? '', 'points'))).toBe(false)
})

test('a directory that has become a link is a link in the next point', async () => {
  world.write({ 'd/one': '1\n', 'd/two': '2\n' })
  world.commit()
  await world.point('grant')
  rmSync(join(world.repo, 'd'), { recursive: true })
  symlinkSync(world.tmp, join(world.repo, 'd'))
  const { tree } = await world.point('end')
  expect(names(tree)).toEqual(['d'])
})
