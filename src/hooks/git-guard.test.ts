import { execFileSync } from 'node:child_process'
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { hookBin, HookWorld } from '../../test/support/hook-host.ts'
import { gitCheckLine } from './install/guard.ts'
import { parseGitCommand } from './git-command.ts'
import { guardedChange } from './git-guard.ts'
import { hosts } from './hosts/hosts.ts'

/** A repository with one commit and the guard as its hooks. */
class Repository extends HookWorld {
  constructor(program: readonly string[] = [process.execPath, hookBin], failClosed = false) {
    super()
    Object.assign(this.env, {
      GIT_CONFIG_GLOBAL: '/dev/null',
      GIT_CONFIG_SYSTEM: '/dev/null',
      GIT_AUTHOR_NAME: 'A',
      GIT_AUTHOR_EMAIL: 'a@example.com',
      GIT_COMMITTER_NAME: 'A',
      GIT_COMMITTER_EMAIL: 'a@example.com',
    })
    const git = (...args: string[]) => execFileSync('git', args, { cwd: this.workspace, env: this.env })
    git('init', '--quiet', '--initial-branch=main')
    git('commit', '--quiet', '--allow-empty', '-m', 'first')
    for (const event of hosts.git.events) {
      const path = join(this.workspace, '.git/hooks', event.name)
      mkdirSync(join(path, '..'), { recursive: true })
      writeFileSync(path, `#!/bin/sh\nset -e\n${gitCheckLine(event, program, { failClosed })}\n`)
      chmodSync(path, 0o755)
    }
  }

  git(args: readonly string[], env: NodeJS.ProcessEnv = {}) {
    return this.start('git', args, { cwd: this.workspace, env }).finished
  }

  commit(env: NodeJS.ProcessEnv = {}, more: readonly string[] = []) {
    return this.git(['commit', '--allow-empty', '-m', 'next', ...more], env)
  }
}

const sleeper = async (world: HookWorld) => {
  const { pid } = world.start('sleep', ['600'])
  await world.lock(['acquire', '--session', 'holder', '--pid', String(pid), '--purpose', 'a refactoring'])
}

test('an unclaimed workspace allows commits and branch changes', async () => {
  await using world = new Repository()
  expect((await world.commit()).code).toBe(0)
  expect((await world.git(['checkout', '-q', '-b', 'other'])).code).toBe(0)
  expect((await world.git(['tag', 'v1'])).code).toBe(0)
})

test('a commit is refused while another session holds the workspace, with its name and the bypass', async () => {
  await using world = new Repository()
  await sleeper(world)
  const { code, stderr } = await world.commit()
  expect(code).toBe(1)
  expect(stderr).toMatch(
    /^parallel session lock held by holder \(pid \d+\) — wait or close that session first\./,
  )
  expect(stderr).toContain('a refactoring')
  expect(stderr).toContain('STINT_BYPASS=1')
  expect((await world.commit({ STINT_BYPASS: '1' })).code).toBe(0)
})

test('every other change of a branch is refused as well; new ones, worktrees, tags and notes are not', async () => {
  await using world = new Repository()
  await world.commit()
  await sleeper(world)
  for (const args of [
    ['commit', '--no-verify', '--allow-empty', '-m', 'x'],
    ['reset', '--soft', 'HEAD~1'],
    ['branch', '-f', 'another', 'HEAD~1'],
    ['update-ref', 'refs/heads/main', 'HEAD~1'],
  ]) {
    const { code, stderr } = await world.git(args)
    expect(code, args.join(' ')).not.toBe(0)
    expect(stderr).toContain('parallel session lock held by holder')
  }
  for (const args of [
    ['branch', 'new'],
    ['worktree', 'add', '-q', '../linked'],
    ['worktree', 'add', '-q', '-b', 'newer', '../linked-too', 'HEAD~1'],
    ['tag', 'v2'],
    ['update-ref', 'refs/remotes/origin/main', 'HEAD'],
    ['notes', 'add', '-m', 'n'],
    ['status', '--short'],
  ])
    expect((await world.git(args)).code, args.join(' ')).toBe(0)
})

/** Runs a shell script with `stint` on its path. */
function shell(world: Repository, script: string) {
  const bin = join(world.tmp, 'bin')
  mkdirSync(bin, { recursive: true })
  const stint = `#!/bin/sh\nexec '${process.execPath}' '${join(hookBin, '../stint.cjs')}' "$@"\n`
  writeFileSync(join(bin, 'stint'), stint)
  chmodSync(join(bin, 'stint'), 0o755)
  const env = { PATH: `${bin}:${world.env.PATH ?? ''}` }
  return world.start('sh', ['-c', script], { cwd: world.workspace, env }).finished
}

const commit = 'git commit -q --allow-empty -m x'

test('git below the holder is allowed, also while another session below the same holder works', async () => {
  await using world = new Repository()
  const acquire = 'stint lock acquire --session outer --pid $$ >/dev/null'
  const inside = `stint run --lock --session inner -- sh -c "${commit}"`
  expect(await shell(world, `${acquire} && ${inside} && ${commit}; exit $?`)).toMatchObject({
    code: 0,
    stderr: '',
  })
})

test('a variable that names the holder does not allow git elsewhere: a tmux server passes variables on', async () => {
  await using world = new Repository()
  await sleeper(world)
  expect((await world.commit({ STINT_SESSION_ID: 'holder' })).code).toBe(1)
  expect((await world.commit({ CLAUDE_CODE_SESSION_ID: 'holder' })).code).toBe(1)
})

test('a variable that names the holder is enough if the holder has no process', async () => {
  await using world = new Repository()
  await world.lock(['acquire', '--session', 'holder'])
  expect((await world.commit({ STINT_SESSION_ID: 'holder' })).code).toBe(0)
  expect((await world.commit({ STINT_SESSION_ID: 'another' })).code).toBe(1)
})

test('a claim on single files does not refuse commits', async () => {
  await using world = new Repository()
  await world.lock(['acquire', '--session', 'holder', '--path', 'src'])
  expect((await world.commit()).code).toBe(0)
})

test('the guard works in a subdirectory, and a linked worktree has its own claim', async () => {
  await using world = new Repository()
  mkdirSync(join(world.workspace, 'sub'))
  await world.git(['worktree', 'add', '-q', '../linked', '-b', 'linked'])
  await sleeper(world)
  const inSub = world.start('git', ['commit', '--allow-empty', '-m', 'x'], {
    cwd: join(world.workspace, 'sub'),
  })
  expect((await inSub.finished).code).toBe(1)
  const byOptions = world.start('git', ['--git-dir=../.git', '--work-tree=..', 'branch', '-D', 'linked'], {
    cwd: join(world.workspace, 'sub'),
  })
  expect((await byOptions.finished).code).not.toBe(0)
  const inLinked = world.start('git', ['commit', '--allow-empty', '-m', 'x'], {
    cwd: join(world.tmp, 'linked'),
  })
  expect(await inLinked.finished).toMatchObject({ code: 0 })
})

test.each([
  ['no such script', [process.execPath, '/nowhere/stint-hook.cjs']],
  ['no such command', ['/nowhere/node', hookBin]],
])('%s: git works as without the hook, unless it fails closed', async (_, program) => {
  await using world = new Repository(program)
  await sleeper(world)
  expect((await world.commit()).code).toBe(0)
  await using closed = new Repository(program, true)
  expect((await closed.commit()).code).toBe(1)
})

test('an unusable home allows commits, unless --fail-closed is given', async () => {
  await using world = new Repository()
  writeFileSync(world.home, 'a file')
  expect((await world.commit()).code).toBe(0)
  await using closed = new Repository(undefined, true)
  writeFileSync(closed.home, 'a file')
  const { code, stderr } = await closed.commit()
  expect(code).toBe(1)
  expect(stderr).toContain('--fail-closed')
  expect(readFileSync(closed.home, 'utf8')).toBe('a file')
})

const zero = '0'.repeat(40)
const one = '1'.repeat(40)

/** What the guard thinks of lines that a command of git gives to `reference-transaction`. */
const ofRefs = (lines: string, command = 'commit', state = 'prepared') =>
  guardedChange({
    hook: 'reference-transaction',
    args: [state],
    lines: () => lines,
    command: () => parseGitCommand(command.split(' ')),
  })

test('a change of HEAD, a branch or the stash is guarded, and no other ref', () => {
  expect(ofRefs(`${zero} ${one} refs/heads/main\n`)).toBe('unbegun')
  expect(ofRefs(`${zero} ${one} HEAD\n`)).toBe('unbegun')
  expect(ofRefs(`${zero} ref:refs/heads/x HEAD\n`)).toBe('unbegun')
  expect(ofRefs(`${zero} ${one} refs/stash\n`, 'stash')).toBe('unbegun')
  expect(ofRefs(`${zero} ${one} refs/tags/v1\n${zero} ${one} ORIG_HEAD\n`)).toBe(undefined)
  expect(ofRefs(`${zero} ${zero} refs/heads/main\n`, 'branch -D main')).toBe('unbegun')
  expect(ofRefs(`${zero} ${one} refs/heads/x\n`, 'branch x')).toBe(undefined)
  expect(ofRefs(`${zero} ${one} refs/heads/x\n`, 'branch --force x')).toBe('unbegun')
  expect(ofRefs(`${one} ${one} refs/heads/main\n`)).toBe(undefined)
  expect(ofRefs(`${one} ${zero} refs/heads/main\n`, 'pack-refs --all')).toBe(undefined)
  expect(ofRefs('')).toBe(undefined)
  for (const state of ['committed', 'aborted', 'preparing'])
    expect(ofRefs(`${zero} ${one} HEAD\n`, 'commit', state)).toBe(undefined)
})

test('a merge is refused by ORIG_HEAD, before it changes a file; a reset writes ORIG_HEAD after that', () => {
  const line = `${zero} ${one} ORIG_HEAD\n`
  expect(ofRefs(line, 'merge other')).toBe('unbegun')
  expect(ofRefs(line, 'am a.patch')).toBe('begun')
  expect(ofRefs(line, 'reset --hard')).toBe(undefined)
  expect(ofRefs(`${one} ${zero} refs/stash\n`, 'stash clear')).toBe('unbegun')
  expect(ofRefs(`${one} ${zero} refs/stash\n`, 'stash pop')).toBe(undefined)
})

test('a command that writes files first has begun, and so may one that cannot be seen', () => {
  const line = `${zero} ${one} HEAD\n`
  for (const command of ['reset --hard', '-C sub -c a.b=c checkout x', ''])
    expect(ofRefs(line, command), command).toBe('begun')
  const call = { args: [one, one, '1'], lines: () => '', command: () => parseGitCommand(['checkout']) }
  expect(guardedChange({ hook: 'post-checkout', ...call })).toBe(undefined)
  expect(guardedChange({ hook: 'post-commit', ...call })).toBe(undefined)
})
