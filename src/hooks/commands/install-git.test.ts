import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { hookBin } from '../../../test/support/hook-host.ts'
import { hookScript } from '../../../test/support/hook-script.ts'
import { contentOf, HookUser } from '../../../test/support/hook-user.ts'
import type { Finished } from '../../../test/support/world.ts'
import { guardEvents } from '../install/guard.ts'

const hooksIn = (directory: string): { path: string }[] =>
  guardEvents.map(({ name }) => ({ path: join(directory, name) }))

/** A repository with one commit. */
class Repository extends HookUser {
  readonly hooks = join(this.project, '.git/hooks')

  async make(): Promise<void> {
    await this.git('init')
    await this.git('commit', '--allow-empty', '-m', 'first')
    for (const name of readdirSync(this.hooks)) if (!name.endsWith('.sample')) throw new Error(name)
  }

  script(name: string, text: string, mode = 0o755): string {
    const path = join(this.hooks, name)
    writeFileSync(path, text)
    chmodSync(path, mode)
    return path
  }

  /** Another session takes the workspace. */
  async hold(): Promise<void> {
    const { code } = await this.stint(['lock', 'acquire', '--session', 'other-session'], {
      cwd: this.project,
    })
    if (code !== 0) throw new Error('not held')
  }

  async release(): Promise<void> {
    await this.stint(['lock', 'release', '--session', 'other-session'], { cwd: this.project })
  }

  commit(message = 'next'): Promise<Finished> {
    return this.git('commit', '--allow-empty', '-m', message)
  }

  async head(): Promise<string> {
    return (await this.git('log', '-1', '--format=%s')).stdout.trim()
  }
}

test('a commit is refused, with the name of the holder, while another session holds the workspace', async () => {
  await using world = new Repository()
  await world.make()
  const rows = await world.change('install', 'git')
  expect(rows.map(({ path, outcome }) => [path, outcome])).toEqual(
    guardEvents.map(({ name }) => [join(world.hooks, name), 'installed']),
  )
  expect(await world.commit('free')).toMatchObject({ code: 0 })
  await world.hold()
  const refused = await world.commit('refused')
  expect(refused.code).toBe(1)
  expect(refused.stderr).toContain('other-session')
  expect(await world.head()).toBe('free')
  const bypassed = await world.start(
    'git',
    ['-c', 'user.name=t', '-c', 'user.email=t@e', 'commit', '--allow-empty', '-m', 'bypass'],
    {
      cwd: world.project,
      env: { STINT_BYPASS: '1' },
    },
  ).finished
  expect(bypassed.code).toBe(0)
  await world.release()
  expect(await world.commit('released')).toMatchObject({ code: 0 })
})

test('commands that bypass pre-commit are refused, too: --no-verify, a renamed branch, a reset, an update of a ref', async () => {
  await using world = new Repository()
  await world.make()
  await world.commit('second')
  await world.change('install', 'git')
  await world.hold()
  for (const args of [
    ['commit', '--allow-empty', '--no-verify', '-m', 'sneaky'],
    ['branch', '-m', 'mine'],
    ['reset', '--hard', 'HEAD~1'],
    ['checkout', '-b', 'other'],
    ['update-ref', 'refs/heads/x', 'HEAD'],
  ])
    expect((await world.git(...args)).code, args.join(' ')).not.toBe(0)
  expect((await world.git('tag', 'v1')).code).toBe(0)
  expect((await world.git('status')).code).toBe(0)
  expect(await world.head()).toBe('second')
})

test('existing hooks run after the guard, and are restored when the guard is removed', async () => {
  await using world = new Repository()
  await world.make()
  const log = join(world.tmp, 'log')
  world.script('pre-commit', `#!/bin/sh -e\necho "pre-commit $0" >> '${log}'\nexit 0\n`)
  world.script('reference-transaction', `#!/usr/bin/env bash\necho "$1:" >> '${log}'\ncat >> '${log}'\n`)
  const before = contentOf(world.hooks)
  await world.change('install', 'git')
  expect((await world.change('install', 'git')).every(({ outcome }) => outcome === 'unchanged')).toBe(true)
  expect(await world.commit()).toMatchObject({ code: 0 })
  const told = world.read(log)
  expect(told).toContain('pre-commit .git/hooks/pre-commit\n')
  expect(told).toMatch(
    /prepared:\n[0-9a-f]{40} [0-9a-f]{40} HEAD\n[0-9a-f]{40} [0-9a-f]{40} refs\/heads\/main\n/,
  )
  expect(told).toContain('committed:\n')
  await world.hold()
  writeFileSync(log, '')
  expect((await world.commit()).code).toBe(1)
  expect(world.read(log)).not.toContain('pre-commit')
  await world.change('uninstall', 'git')
  expect(contentOf(world.hooks)).toEqual(before)
})

test('a hook that is a binary, a link or not executable is moved aside, run if git would run it, and restored', async () => {
  await using world = new Repository()
  await world.make()
  const log = join(world.tmp, 'log')
  const kept = join(world.project, 'kept.sh')
  writeFileSync(kept, `#!/bin/sh\necho linked >> '${log}'\ncat >> '${log}'\n`)
  chmodSync(kept, 0o755)
  world.script(
    'pre-commit',
    `#!/usr/bin/env node\nrequire('fs').appendFileSync(${JSON.stringify(log)}, 'node\\n')\n`,
  )
  symlinkSync(kept, join(world.hooks, 'reference-transaction'))
  const before = contentOf(world.hooks)
  await world.change('install', 'git')
  expect(await world.commit()).toMatchObject({ code: 0 })
  expect(world.read(log)).toMatch(/^(linked\n|.*refs\/heads\/main\n|.* HEAD\n|node\n)+$/)
  expect(world.read(log)).toContain('node\n')
  expect(world.read(log)).toContain('linked\n')
  expect(world.read(kept)).not.toContain('>>> stint')
  await world.change('uninstall', 'git')
  expect(contentOf(world.hooks)).toEqual(before)

  const off = world.script('pre-commit', `#!/bin/sh\necho off >> '${log}'\n`, 0o644)
  await world.change('install', 'git')
  await world.commit()
  expect(world.read(log)).not.toContain('off')
  await world.change('uninstall', 'git')
  expect(world.read(off)).toContain('echo off')
})

test('an empty hook and one without a final newline are restored when the guard is removed', async () => {
  await using world = new Repository()
  await world.make()
  world.script('pre-commit', '#!/bin/sh\n')
  world.script('reference-transaction', '#!/bin/bash')
  const before = contentOf(world.hooks)
  await world.change('install', 'git')
  expect(await world.commit()).toMatchObject({ code: 0 })
  await world.change('uninstall', 'git')
  expect(contentOf(world.hooks)).toEqual(before)
})

test('a hook that was moved aside survives an interrupted installation and a replaced guard', async () => {
  await using world = new Repository()
  await world.make()
  const log = join(world.tmp, 'log')
  const hook = (word: string): string =>
    `#!/usr/bin/env node\nrequire('fs').appendFileSync(${JSON.stringify(log)}, '${word}\\n')\n`
  world.script('pre-commit', hook('first'))
  const before = contentOf(world.hooks)
  renameSync(join(world.hooks, 'pre-commit'), join(world.hooks, 'pre-commit.before-stint'))
  await world.change('install', 'git')
  expect(await world.commit()).toMatchObject({ code: 0 })
  expect(world.read(log)).toBe('first\n')
  await world.change('uninstall', 'git')
  expect(contentOf(world.hooks)).toEqual(before)

  await world.change('install', 'git')
  world.script('pre-commit', hook('second'))
  const kept = contentOf(world.hooks)
  const finished = await world.hook(['install', 'git'])
  expect(finished.envelope().error).toMatchObject({ code: 'NAME_TAKEN' })
  expect(contentOf(world.hooks)).toEqual(kept)
})

test('own hooks for a push and a checkout get their input, and run although the guard complains', async () => {
  await using world = new Repository()
  await world.make()
  const log = join(world.tmp, 'log')
  const remote = join(world.tmp, 'remote')
  await world.git('init', '--bare', remote)
  await world.git('branch', 'other')
  world.script('pre-push', `#!/bin/sh\ncat >> '${log}'\n`)
  world.script('post-checkout', `#!/bin/sh\necho "checkout $3" >> '${log}'\n`)
  await world.change('install', 'git')
  expect(await world.git('push', remote, 'main')).toMatchObject({ code: 0 })
  expect(world.read(log)).toMatch(/^refs\/heads\/main [0-9a-f]{40} refs\/heads\/main 0{40}\n$/)
  await world.hold()
  const switched = await world.git('checkout', 'other')
  expect(switched).toMatchObject({
    code: 0,
    stderr: expect.stringContaining('`git status` shows what git has changed already.'),
  })
  expect(world.read(log)).toContain('checkout 1\n')
})

test('a guard with missing or changed scripts is reported by the doctor, and repaired by installing it again', async () => {
  await using world = new Repository()
  await world.make()
  await world.change('install', 'git')
  const removed = guardEvents.map(({ name }) => name).filter((name) => !/^pre-commit|^reference/.test(name))
  for (const name of removed) rmSync(join(world.hooks, name))
  const changed = join(world.hooks, 'reference-transaction')
  writeFileSync(changed, world.read(changed).replace(" | *' refs/stash'* | *' ORIG_HEAD'*", ''))
  const doctor = () => world.stint(['doctor', '--json'], { cwd: world.project })
  const { code, stdout } = await doctor()
  expect([code, stdout]).toEqual([
    4,
    expect.stringMatching(/differs from what this version of stint writes","fix":"stint hook install git"/),
  ])
  const outcomes = (await world.change('install', 'git')).map(({ outcome }) => outcome)
  expect(outcomes).toEqual(['unchanged', 'installed', 'installed', 'installed', 'updated', 'installed'])
  expect(await doctor()).toMatchObject({ code: 0 })
})

test('installing the guard says in one line what it cannot prevent, and how to add the shim', async () => {
  await using world = new Repository()
  await world.make()
  const { next } = (await world.hook(['install', 'git'])).envelope().data as { next: string[] }
  expect(next).toContain(
    "git's hooks alone cannot stop `checkout`, `restore`, `clean` or `stash pop`: `stint hook install git --shim` can.",
  )
})

test('an existing hook that fails still refuses the commit, with its own exit code', async () => {
  await using world = new Repository()
  await world.make()
  world.script('pre-commit', '#!/bin/sh\necho "lint failed" >&2\nexit 1\n')
  await world.change('install', 'git')
  const refused = await world.commit()
  expect([refused.code, refused.stderr]).toEqual([1, 'lint failed\n'])
})

/** The layout of husky 9: git looks in `_`, whose stubs run the file of the same name one directory up. */
async function husky(world: Repository): Promise<string> {
  const stubs = join(world.project, '.husky/_')
  mkdirSync(stubs, { recursive: true })
  const stub = '#!/usr/bin/env sh\n. "$(dirname "$0")/h"\n'
  writeFileSync(join(stubs, '.gitignore'), '*')
  writeFileSync(
    join(stubs, 'h'),
    'n=$(basename "$0")\ns=$(dirname "$(dirname "$0")")/$n\n[ ! -f "$s" ] && exit 0\nsh -e "$s" "$@"\nexit $?\n',
  )
  for (const name of ['pre-commit', 'commit-msg', 'pre-rebase', 'pre-push', 'post-checkout']) {
    writeFileSync(join(stubs, name), stub)
    chmodSync(join(stubs, name), 0o755)
  }
  writeFileSync(join(world.project, '.husky/pre-commit'), 'echo husky >> ran\n')
  await world.git('config', 'core.hooksPath', '.husky/_')
  return stubs
}

test('husky: its hooks keep running, no tracked file changes, and stubs that it rewrites are repaired', async () => {
  await using world = new Repository()
  await world.make()
  const stubs = await husky(world)
  await world.git('add', '-A')
  const before = contentOf(stubs)
  await world.change('install', 'git')
  expect(await world.commit('with husky')).toMatchObject({ code: 0 })
  expect(world.read(join(world.project, 'ran'))).toBe('husky\n')
  expect((await world.git('status', '--porcelain')).stdout).toBe('?? ran\n')
  await world.hold()
  expect((await world.commit()).code).toBe(1)
  // `husky` rewrites its stubs at every npm install: the other hook still refuses.
  writeFileSync(join(stubs, 'pre-commit'), '#!/usr/bin/env sh\n. "$(dirname "$0")/h"\n')
  expect((await world.commit()).code).not.toBe(0)
  const status = await world.hook(['status', 'git'])
  expect(status.envelope().data).toMatchObject({ hooks: [{ state: 'incomplete' }] })
  const repaired = await world.change('install', 'git')
  expect(repaired.map(({ outcome }) => outcome).filter((outcome) => outcome !== 'unchanged')).toEqual([
    'installed',
  ])
  await world.change('uninstall', 'git')
  expect(contentOf(stubs)).toEqual(before)
})

test('lefthook: its script keeps running, and a guard that it overwrote can be installed again', async () => {
  await using world = new Repository()
  await world.make()
  const ran = join(world.tmp, 'ran')
  const script = `#!/bin/sh

if [ "$LEFTHOOK_VERBOSE" = "1" ]; then
  set -x
fi

call_lefthook()
{
  echo "lefthook $*" >> '${ran}'
}

call_lefthook run "pre-commit" "$@"
`
  world.script('pre-commit', script)
  await world.change('install', 'git')
  expect(await world.commit()).toMatchObject({ code: 0 })
  expect(world.read(ran)).toBe('lefthook run pre-commit\n')
  await world.change('uninstall', 'git')
  expect(world.read(join(world.hooks, 'pre-commit'))).toBe(script)
})

test('a tracked hooks directory gets no path of this machine', async () => {
  await using world = new Repository()
  await world.make()
  mkdirSync(join(world.project, '.githooks'))
  await world.git('config', 'core.hooksPath', '.githooks')
  const finished = await world.hook(['install', 'git'])
  expect(finished.envelope().warnings).toEqual([expect.stringContaining('not on PATH')])
  const text = world.read(join(world.project, '.githooks/pre-commit'))
  expect(text).toContain('NODE_EXTRA_CA_CERTS= stint-hook git pre-commit')
  expect(text).not.toContain(world.tmp)
  // A user without stint can commit.
  await world.hold()
  expect(await world.commit()).toMatchObject({ code: 0 })
  symlinkSync(hookBin, join(world.bin, 'stint-hook'))
  expect((await world.commit()).code).toBe(1)
})

test('global hooks are not changed for one repository', async () => {
  await using world = new Repository()
  const global = join(world.user, 'git-hooks')
  mkdirSync(global)
  await world.make()
  await world.git('config', '--global', 'core.hooksPath', global)
  const { code, ...refused } = await world.hook(['install', 'git'])
  expect([code, refused.envelope().error?.code]).toEqual([6, 'NAME_TAKEN'])
  expect(readdirSync(global)).toEqual([])
  await world.change('install', 'git', '--user')
  await world.hold()
  expect((await world.commit()).code).toBe(1)
  await world.change('uninstall')
  expect(readdirSync(global)).toEqual([])
})

test.each([
  [['install', 'git'], 'NOT_FOUND', 5],
  [['install', 'git', '--user'], 'NOT_FOUND', 5],
  [['install', 'git', '--local'], 'ARG_ERROR', 2],
])('outside a repository, %j fails with %s', async (args, error, exit) => {
  await using world = new HookUser()
  const { code, ...finished } = await world.hook(args)
  expect([code, finished.envelope().error?.code]).toEqual([exit, error])
})

test('a worktree shares the hooks of its repository, and has a workspace of its own', async () => {
  await using world = new Repository()
  await world.make()
  const worktree = join(world.tmp, 'worktree')
  await world.git('worktree', 'add', worktree)
  const finished = await world.hook(['install', 'git'], worktree)
  expect(finished.envelope().data).toMatchObject({ hooks: hooksIn(world.hooks) })
  await world.hold()
  expect((await world.commit()).code).toBe(1)
  const there = await world.git('-C', worktree, 'commit', '--allow-empty', '-m', 'there')
  expect(there).toMatchObject({ code: 0 })
})

test('a submodule has hooks of its own, and is held apart from its parent project', async () => {
  await using world = new Repository()
  await world.make()
  const part = join(world.tmp, 'part')
  await world.git('init', part)
  await world.git('-C', part, 'commit', '--allow-empty', '-m', 'part')
  await world.git('-c', 'protocol.file.allow=always', 'submodule', 'add', part, 'sub')
  const deep = join(world.project, 'sub/deep')
  mkdirSync(deep)
  const finished = await world.hook(['install', 'git'], deep)
  expect(finished.envelope().data).toMatchObject({
    hooks: hooksIn(join(world.project, '.git/modules/sub/hooks')),
  })
  await world.hold()
  expect((await world.git('-C', deep, 'commit', '--allow-empty', '-m', 'x')).code).toBe(0)
  await world.stint(['lock', 'acquire', '--session', 'other'], { cwd: deep })
  expect((await world.git('-C', deep, 'commit', '--allow-empty', '-m', 'x')).code).toBe(1)
  expect(await world.commit('not guarded')).toMatchObject({ code: 0 })
})

test('a subdirectory of a repository finds its hooks, wherever they are kept', async () => {
  await using world = new Repository()
  await world.make()
  const stubs = await husky(world)
  const deep = join(world.project, 'src/deep')
  mkdirSync(deep, { recursive: true })
  const finished = await world.hook(['install', 'git'], deep)
  expect(finished.envelope().data).toMatchObject({ hooks: hooksIn(stubs) })
  const bare = join(world.tmp, 'bare')
  await world.git('init', '--bare', bare)
  expect((await world.hook(['install', 'git'], bare)).envelope().error?.code).toBe('NOT_FOUND')
})

test('a fetch and a gc change no branch and start no process of stint', async () => {
  await using world = new Repository()
  await world.make()
  const upstream = join(world.tmp, 'upstream')
  await world.git('clone', world.project, upstream)
  await world.git('-C', upstream, 'commit', '--allow-empty', '-m', 'upstream')
  await world.change('install', 'git')
  const path = join(world.hooks, 'reference-transaction')
  const started = join(world.tmp, 'started')
  writeFileSync(path, world.read(path).replace(hookScript, `: >> '${started}'; ${hookScript}`))
  expect(await world.git('fetch', upstream, 'main:refs/remotes/up/main')).toMatchObject({ code: 0 })
  expect(await world.git('gc', '--quiet')).toMatchObject({ code: 0 })
  expect(existsSync(started)).toBe(false)
  expect(await world.commit()).toMatchObject({ code: 0 })
  expect(existsSync(started)).toBe(true)
})

test.each([
  ['stint-hook.cjs', hookBin],
  ['stint-hook.sh', hookScript],
])('git works without %s; with --fail-closed, it refuses', async (_name, program) => {
  await using world = new Repository()
  await world.make()
  await world.change('install', 'git')
  const gone = (name: string): void => {
    const path = join(world.hooks, name)
    writeFileSync(path, world.read(path).replaceAll(program, join(world.tmp, 'gone')))
  }
  for (const name of ['pre-commit', 'reference-transaction']) gone(name)
  await world.hold()
  expect(await world.commit()).toMatchObject({ code: 0 })
  await world.change('install', 'git', '--fail-closed')
  for (const name of ['pre-commit', 'reference-transaction']) gone(name)
  expect((await world.commit()).code).not.toBe(0)
})
