import { execFileSync } from 'node:child_process'
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { userInfo } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { dataOf, errorOf, LockWorld } from '../../../test/support/lock-world.ts'
import { hookBin, hookEvent, HookWorld } from '../../../test/support/hook-host.ts'
import { deadPid } from '../../../test/support/plant.ts'
import { type Finished, isRunning, stintBin, until } from '../../../test/support/world.ts'
import { identify, ownIdentity } from '../../base/process/liveness.ts'
import { readOrigin } from '../../base/process/origin.ts'

test('acquire, release and a refusal each have their envelope; acquiring again renews', async () => {
  await using world = new LockWorld()
  const mine = await world.lock(['acquire', '--session', 'mine', '--purpose', 'testing'])
  expect(mine.code).toBe(0)
  expect(dataOf(mine)).toEqual({
    acquired: true,
    session_id: 'mine',
    workspace: world.workspace,
    workspace_key: world.key,
    epoch: expect.any(Number),
    fence: expect.any(Number),
    expires_at: expect.any(Number),
    release_command: 'stint lock release --session mine',
  })
  const { epoch, fence } = dataOf(mine) as { epoch: number; fence: number }
  const theirs = await world.lock(['acquire', '--session', 'theirs'])
  expect(theirs.code).toBe(4)
  expect(errorOf(theirs)).toMatchObject({
    code: 'LOCK_HELD',
    retryable: true,
    retry_after_ms: expect.any(Number),
    detail: expect.stringMatching(/^lock_file=.*\/\d+ holder_pid=-$/),
    holder: {
      session_id: 'mine',
      pid: null,
      acquired_at: expect.any(Number),
      purpose: 'testing',
      liveness: 'unknown',
    },
  })
  expect(dataOf(await world.lock(['status', '--session', 'mine']))).toMatchObject({ claims: [{ fence }] })
  const notHeld = await world.lock(['status', '--session', 'theirs'])
  expect([notHeld.code, errorOf(notHeld)?.message]).toEqual([4, `theirs does not hold ${world.workspace}`])
  expect(dataOf(await world.lock(['acquire', '--session', 'mine']))).toMatchObject({ fence })
  expect(dataOf(await world.lock(['release', '--session', 'theirs']))).toMatchObject({ released: false })
  expect(dataOf(await world.lock(['release', '--session', 'mine']))).toMatchObject({ released: true })
  const lost = await world.lock(['status', '--session', 'mine', '--fence', String(fence)])
  expect([lost.code, errorOf(lost)?.code]).toEqual([4, 'LOCK_LOST'])
  // The renewal and the release were changes, too.
  const next = dataOf(await world.lock(['acquire', '--session', 'theirs'])) as { fence: number }
  expect(next).toMatchObject({ epoch: epoch + 3 })
  expect(next.fence).toBeGreaterThan(fence)
})

test('a path with or without a slash, a link to it and a directory in its git tree are one workspace, a submodule and a linked worktree are their own', async () => {
  await using world = new LockWorld()
  execFileSync('git', ['init', '-q', world.workspace])
  mkdirSync(join(world.workspace, 'deep/er'), { recursive: true })
  symlinkSync(world.workspace, join(world.tmp, 'link'))
  const ways = [
    world.workspace,
    `${world.workspace}/`,
    join(world.tmp, 'link'),
    join(world.workspace, 'deep/er'),
  ]
  for (const way of ways) {
    const { workspace_key } = dataOf(await world.lock(['acquire', '--session', 'a', '--workspace', way]))
    expect(workspace_key).toBe(world.key)
  }
  const submodule = join(world.workspace, 'sub')
  mkdirSync(submodule)
  writeFileSync(join(submodule, '.git'), 'gitdir: ../.git/modules/sub\n')
  const worktree = join(world.workspace, 'tree')
  mkdirSync(worktree)
  writeFileSync(join(worktree, '.git'), 'gitdir: ../.git/worktrees/tree\n')
  const keyOf = async (dir: string) => dataOf(await world.lock(['status', '--workspace', dir])).workspace
  expect(await keyOf(submodule)).toBe(submodule)
  expect(await keyOf(worktree)).toBe(worktree)
})

test('two workspaces with the same key are an error, not one lock', async () => {
  await using world = new LockWorld()
  world.plantClaim({}, { workspace: '/somewhere/else' })
  const result = await world.lock(['acquire', '--session', 'a'])
  expect([result.code, errorOf(result)?.code]).toEqual([6, 'LOCK_KEY_COLLISION'])
})

test('src/api and src/ui can be held at once, but not src; shared claims exclude only exclusive ones', async () => {
  await using world = new LockWorld()
  const take = async (session: string, ...flags: string[]) =>
    (await world.lock(['acquire', '--session', session, ...flags])).code
  expect(await take('a', '--path', 'src/api')).toBe(0)
  expect(await take('b', '--path', 'src/ui/')).toBe(0)
  expect(await take('c', '--path', 'src')).toBe(4)
  expect(await take('c')).toBe(4)
  expect(await take('c', '--path', 'docs', '--shared')).toBe(0)
  expect(await take('d', '--path', 'docs/x', '--shared')).toBe(0)
  expect(await take('e', '--path', 'docs/x')).toBe(4)
  expect(await take('e', '--path', '../outside')).toBe(2)
  expect(dataOf(await world.lock(['release', '--session', 'a', '--path', 'src/api']))).toMatchObject({
    released: true,
  })
  expect(await take('f', '--path', 'src/api')).toBe(0)
})

interface AllStatus {
  workspaces: unknown[]
}

/** Whether a process watches files with inotify. */
const watchesFiles = (pid: number): boolean =>
  readdirSync(`/proc/${pid}/fd`).some((fd) => {
    try {
      return readlinkSync(`/proc/${pid}/fd/${fd}`).includes('inotify')
    } catch {
      return false
    }
  })

test('--wait waits for a release, and gives up with LOCK_HELD after the given time', async () => {
  await using world = new LockWorld()
  await world.lock(['acquire', '--session', 'a'])
  const late = await world.lock(['acquire', '--session', 'b', '--wait', '100ms'])
  expect([late.code, errorOf(late)?.code]).toEqual([4, 'LOCK_HELD'])
  const waiting = world.startStint(['lock', 'acquire', '--session', 'b', '--wait', '60s', '--json'], {
    cwd: world.workspace,
  })
  await until('it waits', () => watchesFiles(waiting.pid))
  await world.lock(['release', '--session', 'a'])
  expect(dataOf(await waiting.finished)).toMatchObject({ acquired: true, session_id: 'b' })
})

test('status shows who holds what, and --watch prints each change', async () => {
  await using world = new LockWorld()
  const watch = ['lock', 'status', '--watch', '--interval', '50ms']
  const watcher = world.startStint(watch, { cwd: world.workspace })
  const streamer = world.startStint([...watch, '--all', '--json'], { cwd: world.workspace })
  const blocks = () => watcher.output().stdout.trim().split('\n\n')
  await until('it prints that the workspace is free', () => blocks().at(-1) === `${world.workspace} is free`)
  await world.lock(['acquire', '--session', 'a', '--purpose', 'why not', '--pid', String(process.pid)])
  await until('it prints the new holder', () =>
    /\n {2}a \(pid \d+\) {2}the whole workspace {2}held for \d+s {2}"why not"/.test(blocks().at(-1) ?? ''),
  )
  expect(dataOf(await world.lock(['status']))).toMatchObject({
    workspace: world.workspace,
    claims: [
      {
        session_id: 'a',
        pid: process.pid,
        state: 'held',
        liveness: 'alive',
        holders: [process.pid],
      },
    ],
  })
  expect(dataOf(await world.lock(['status', '--all']))).toMatchObject({
    workspaces: [{ workspace: world.workspace, claims: [{}] }],
  })
  const streamed = () =>
    streamer
      .output()
      .stdout.trim()
      .split('\n')
      .map((line) => (JSON.parse(line) as AllStatus).workspaces)
  await until('the stream has the claim', () => streamed().at(-1)?.length === 1)
  await world.lock(['release', '--session', 'a'])
  await until('it prints that the workspace is free', () => blocks().at(-1) === `${world.workspace} is free`)
  await until('the stream has no claim', () => streamed().at(-1)?.length === 0)
  expect(blocks()).toHaveLength(3)
  for (const { child, finished } of [watcher, streamer]) {
    child.kill('SIGINT')
    expect(await finished).toMatchObject({ code: 130, stderr: '' })
  }
})

test('break takes an exact id at its word, and needs --yes for a shortened one where it cannot ask', async () => {
  await using world = new LockWorld()
  await world.lock(['acquire', '--session', 'theirs'])
  const unasked = await world.lock(['break', '--session', 'the'])
  expect([unasked.code, errorOf(unasked)?.code]).toEqual([2, 'ARG_ERROR'])
  expect(dataOf(await world.lock(['break', '--session', 'the', '--yes']))).toMatchObject({ broken: true })
  await world.lock(['acquire', '--session', 'theirs'])
  expect(dataOf(await world.lock(['break', '--session', '.', '--yes']))).toMatchObject({ broken: true })
  await world.lock(['acquire', '--session', 'theirs'])
  expect(dataOf(await world.lock(['break', '--session', 'theirs']))).toMatchObject({ broken: true })
})

test('a name that means no claim, or several, is refused with the sessions that hold the workspace', async () => {
  await using world = new LockWorld()
  expect(errorOf(await world.lock(['break', '--session', 'x']))?.suggestion).toBe('No session holds it.')
  for (const path of ['a', 'b']) await world.lock(['acquire', '--session', `ses-${path}`, '--path', path])
  const holders = 'It is held by ses-a, ses-b.'
  expect(errorOf(await world.lock(['break', '--session', 'nobody', '--yes']))).toMatchObject({
    code: 'NOT_FOUND',
    suggestion: holders,
  })
  for (const name of ['ses', '.'])
    expect(errorOf(await world.lock(['break', '--session', name, '--yes']))).toMatchObject({
      code: 'ARG_ERROR',
      suggestion: `Give more of the id. ${holders}`,
      candidates: ['ses-a', 'ses-b'],
    })
  expect(errorOf(await world.lock(['break']))).toMatchObject({
    code: 'ARG_ERROR',
    suggestion: `Give --session ID. ${holders}`,
  })
})

test('a break is recorded with who and why, and the holder notices it', async () => {
  await using world = new LockWorld()
  const { fence } = dataOf(await world.lock(['acquire', '--session', 'theirs']))
  const broken = await world.lock(['break', '--session', 'theirs', '--reason', 'hung'])
  expect(dataOf(broken)).toEqual({ broken: true, session_id: 'theirs', fence })
  expect(dataOf(await world.lock(['status']))).toMatchObject({
    claims: [],
    breaks: [{ session_id: 'theirs', reason: 'hung', by: expect.any(String), at: expect.any(Number) }],
  })
  expect((await world.lock(['status', '--session', 'theirs', '--fence', String(fence)])).code).toBe(4)
})

test('--path is relative to --workspace if that is given, else to the current directory; links are followed', async () => {
  await using world = new LockWorld()
  execFileSync('git', ['init', '-q', world.workspace])
  mkdirSync(join(world.workspace, 'src/api'), { recursive: true })
  symlinkSync('src/api', join(world.workspace, 'link'))
  const pathsOf = async () =>
    (dataOf(await world.lock(['status'])).claims as { paths: string[] }[]).map(({ paths }) => paths)
  const there = ['--session', 'a', '--workspace', world.workspace]
  expect((await world.lock(['acquire', ...there, '--path', 'src'], world.tmp)).code).toBe(0)
  expect(await pathsOf()).toEqual([['src']])
  const released = await world.lock(['release', ...there, '--path', 'src'], world.tmp)
  expect(dataOf(released)).toMatchObject({ released: true })
  await world.lock(['acquire', '--session', 'a', '--path', 'api'], join(world.workspace, 'src'))
  expect(await pathsOf()).toEqual([['src/api']])
  const linked = await world.lock(['acquire', '--session', 'b', '--path', 'link/new.ts'])
  expect([linked.code, errorOf(linked)?.code]).toEqual([4, 'LOCK_HELD'])
})

test('after --ttl another session gets the claim without a release', async () => {
  await using world = new LockWorld()
  await world.lock(['acquire', '--session', 'a', '--ttl', '10ms'])
  expect((await world.lock(['acquire', '--session', 'b', '--wait', '60s'])).code).toBe(0)
})

test('a fence may have sixteen digits', async () => {
  await using world = new LockWorld()
  world.plantClaim({ fence: 1881979177926658 })
  const held = await world.lock(['status', '--session', 'planted', '--fence', '1881979177926658'])
  expect(dataOf(held)).toMatchObject({ claims: [{ fence: 1881979177926658 }] })
})

test('an acquire that is interrupted while it is granted holds nothing if it reports CANCELLED', async () => {
  await using world = new LockWorld()
  for (let next = 1; next < 20;) {
    const acquiring = world.startStint(['lock', 'acquire', '--session', 'a', '--json'], {
      cwd: world.workspace,
    })
    // A busy loop, so that the signal arrives before the answer.
    while (!existsSync(join(world.locks, String(next))) && isRunning(acquiring.pid));
    acquiring.child.kill('SIGTERM')
    const { code, envelope } = await acquiring.finished
    const held = dataOf(await world.lock(['status'])).claims as unknown[]
    if (code === 0) expect(held).toHaveLength(1)
    else expect([code, envelope().error?.code, held]).toEqual([143, 'CANCELLED', []])
    await world.lock(['release', '--session', 'a'])
    next = Math.max(...readdirSync(world.locks).map(Number).filter(Number.isInteger)) + 1
  }
})

test('an interrupted acquire leaves the claim that its session had before', async () => {
  await using world = new LockWorld()
  await world.lock(['acquire', '--session', 'a', '--path', 'mine'])
  await world.lock(['acquire', '--session', 'b', '--path', 'theirs'])
  const waiting = world.startStint(['lock', 'acquire', '--session', 'a', '--wait', '60s', '--json'], {
    cwd: world.workspace,
  })
  await until('it waits', () => watchesFiles(waiting.pid))
  waiting.child.kill('SIGINT')
  expect((await waiting.finished).code).toBe(130)
  expect(dataOf(await world.lock(['status']))).toMatchObject({
    claims: [{ session_id: 'a', paths: ['mine'] }, { session_id: 'b' }],
  })
})

test('status --all ignores names that are not keys, names unreadable records and shows the rest', async () => {
  await using world = new LockWorld()
  await world.lock(['acquire', '--session', 'a'])
  const locks = join(world.home, 'locks')
  const [file, loop, garbage] = ['00000000000f', '0000000000aa', '0000000000bb'].map((key) =>
    join(locks, key),
  )
  writeFileSync(join(locks, 'README'), '')
  symlinkSync('self', join(locks, 'self'))
  writeFileSync(file ?? '', '')
  symlinkSync(loop ?? '', loop ?? '')
  mkdirSync(garbage ?? '')
  writeFileSync(join(garbage ?? '', '1'), 'garbage')
  const { workspaces, unreadable } = dataOf(await world.lock(['status', '--all'])) as Record<
    string,
    unknown[]
  >
  expect(workspaces).toMatchObject([{ workspace: world.workspace, claims: [{ session_id: 'a' }] }])
  expect(unreadable?.sort()).toEqual(
    expect.arrayContaining([
      { workspace_key: '00000000000f', reason: 'ENOTDIR' },
      { workspace_key: '0000000000aa', reason: 'ELOOP' },
      { workspace_key: '0000000000bb', reason: 'a record this version cannot read' },
    ]),
  )
  expect(unreadable).toHaveLength(3)
})

test('watch escapes control characters, and ends with its reader', async () => {
  await using world = new LockWorld()
  const purpose = 'x\nb is free\u001b[2J\u009b2J'
  await world.lock(['acquire', '--session', 'a', '--purpose', purpose])
  const pipe = '"$0" "$1" lock status --watch --interval 50ms | tee seen | head -1; : > ended'
  world.start('sh', ['-c', pipe, process.execPath, stintBin], { cwd: world.workspace })
  const seen = join(world.workspace, 'seen')
  await until(
    'it has printed the purpose',
    () => existsSync(seen) && readFileSync(seen, 'utf8').includes('"x'),
  )
  expect(readFileSync(seen, 'utf8')).toContain('"x\\nb is free\\u001b[2J\\u009b2J"')
  const ended = join(world.workspace, 'ended')
  for (let turn = 0; !existsSync(ended); turn++)
    await world.lock([turn % 2 === 0 ? 'release' : 'acquire', '--session', 'a'])
})

test('the claim of a dead session is not shown, and no fence without --verbose', async () => {
  await using world = new LockWorld()
  const asText = { cwd: world.workspace, env: { STINT_OUTPUT: 'text' } }
  const status = async (...args: string[]) => (await world.stint(['lock', 'status', ...args], asText)).stdout
  world.plantClaim({ fence: 77, holders: [ownIdentity()] })
  expect(await status()).toMatch(/^\S+\/work\n {2}planted .* held for \d+s\n$/)
  expect(await status('--verbose')).toMatch(/held for \d+s, fence 77\n/)
  world.plantClaim({ fence: 78, holders: [{ ...ownIdentity(), pid: deadPid }] })
  expect(await status()).toMatch(/^\S+\/work is free\n$/)
  expect(await status('--all')).toBe('no claims\n')
  const acquire = async (...args: string[]) =>
    (await world.stint(['lock', 'acquire', '--ttl', '1h', ...args], asText)).stdout
  expect(await acquire('--session', 'me')).toMatch(
    /^You hold \S+\/work until \S+ \S+ \(session me\)\.\nRelease it with: stint lock release --session me\n$/,
  )
  expect(await acquire('--session', 'me', '--path', 'src', '--verbose')).toMatch(
    /^You hold src in .* \(session me, fence \d+\)/,
  )
})

test('release without a session gives up the only claim that its user has acquired there', async () => {
  await using world = new LockWorld()
  const holder = identify(world.start('sleep', ['600']).pid)
  const holders = holder === undefined ? [] : [holder]
  world.plantClaim({ session_id: 'agent', paths: ['docs'], holders, origin: { agent: 'Codex' } })
  const none = await world.lock(['release'])
  expect([none.code, errorOf(none)]).toMatchObject([
    5,
    { code: 'NOT_FOUND', suggestion: 'It is held by agent (Codex). Give --session ID.' },
  ])
  const { session_id } = dataOf(await world.lock(['acquire', '--path', 'src']))
  const below = { cwd: world.workspace, env: { CLAUDE_CODE_SESSION_ID: 'agent' } }
  const agents = await world.stint(['lock', 'release', '--json'], below)
  expect([agents.code, errorOf(agents)?.message]).toEqual([2, 'no session given'])
  expect(dataOf(await world.lock(['release']))).toEqual({ released: true, session_id })
  expect(dataOf(await world.lock(['status']))).toMatchObject({ claims: [{ session_id: 'agent' }] })
  for (const session of ['a', 'b']) await world.lock(['acquire', '--session', session, '--path', session])
  const both = await world.lock(['release'])
  expect([both.code, errorOf(both)]).toMatchObject([2, { code: 'ARG_ERROR', candidates: ['a', 'b'] }])
})

test('release without a session counts no claim that has expired, and names the session that it released', async () => {
  await using world = new LockWorld()
  const { user, hostname } = readOrigin(process.pid)
  const origin = { user, hostname, command: 'lock acquire' }
  const over = { session_id: 'old', until: 1, until_wall: 1, origin }
  world.plantClaim(over)
  const none = await world.lock(['release'])
  expect([none.code, errorOf(none)]).toMatchObject([
    5,
    { suggestion: 'No session holds it. Give --session ID.' },
  ])
  world.plantClaim({ ...over, paths: ['old'] })
  await world.lock(['acquire', '--session', 'mine', '--path', 'src'])
  const asText = { cwd: world.workspace, env: { STINT_OUTPUT: 'text' } }
  expect((await world.stint(['lock', 'release'], asText)).stdout).toBe('released the claim of mine\n')
})

/** Runs stint below a program that acts as Cursor, which has told its hook about a session. */
function belowCursor(world: HookWorld, args: readonly string[]): Promise<Finished> {
  const input = JSON.stringify(hookEvent('cursor', 'prompt', { cwd: world.workspace, session: 'agent' }))
  const hook = [hookBin, 'cursor', '--event', 'beforeSubmitPrompt']
  const program = `const { spawnSync } = require('node:child_process')
    spawnSync(process.execPath, ${JSON.stringify(hook)}, { input: ${JSON.stringify(input)} })
    const stint = spawnSync(process.execPath, ${JSON.stringify([stintBin, ...args])}, { stdio: 'inherit' })
    process.exit(stint.status)`
  return world.start(process.execPath, ['-e', program], { cwd: world.workspace }).finished
}

/** Runs stint with the variable in which Claude Code names its session. */
const belowClaude = (world: HookWorld, args: readonly string[]): Promise<Finished> =>
  world.stint([...args], { cwd: world.workspace, env: { CLAUDE_CODE_SESSION_ID: 'agent' } })

test.each([
  ['Claude Code, which sets a variable', belowClaude],
  ['Cursor, which sets none', belowCursor],
])("a user's release spares the claim of %s, and the agent's release that of its user", async (_, below) => {
  await using world = new HookWorld()
  const { session_id, release_command } = dataOf(
    await below(world, ['lock', 'acquire', '--path', 'docs', '--json']),
  )
  expect(release_command).toBe(`stint lock release --session ${String(session_id)}`)
  const users = await world.lock(['release'])
  expect([users.code, errorOf(users)?.code]).toEqual([5, 'NOT_FOUND'])
  await world.lock(['acquire', '--session', 'mine', '--path', 'src'])
  const agents = await below(world, ['lock', 'release', '--json'])
  expect([agents.code, errorOf(agents)?.message]).toEqual([2, 'no session given'])
  expect(dataOf(await world.lock(['release']))).toEqual({ released: true, session_id: 'mine' })
  expect(world.claims).toMatchObject([{ session_id }])
})

test('a break by a user without a name is recorded with the user id', async () => {
  await using world = new LockWorld()
  await world.lock(['acquire', '--session', 'theirs'])
  const broken = await world.lockUnnamed(['break', '--session', 'theirs', '--yes'])
  expect(dataOf(broken)).toMatchObject({ broken: true })
  expect(dataOf(await world.lock(['status']))).toMatchObject({ breaks: [{ by: 'uid 54321' }] })
})

test.each([
  [['acquire', '--session', '..'], 2],
  [['acquire', '--session', 'a', '--ttl', '0'], 2],
  [['acquire', '--session', 'a', '--ttl', '400d'], 2],
  [['acquire', '--session', 'a', '--pid', 'x'], 2],
  [['acquire', '--session', 'a', '--pid', '-1'], 2],
  [['acquire', '--session', 'a', '--pid', '0x1'], 2],
  [['acquire', '--session', 'a', '--pid', '2147483647'], 5],
  [['status', '--session', 'a', '--fence', '9007199254740993'], 2],
  [['status', '--all', '--workspace', '.'], 2],
  [['status', '--all', '--session', 'a'], 2],
  [['status', '--interval', '1s'], 2],
  [['acquire', '--session', 'a', '--workspace', '/no/such/directory'], 5],
  [['status', '--fence', '7'], 2],
  [['status', '--session', 'a', '--fence', 'x'], 2],
  [['break'], 2],
  [['frobnicate'], 2],
])('the bad arguments %j exit with %i, and nothing is written', async (args, code) => {
  await using world = new LockWorld()
  const result = await world.lock(args)
  expect(result.code).toBe(code)
  expect(result.envelope().ok).toBe(false)
  expect(readdirSync(world.tmp)).toEqual(['work'])
})

test('people see whose claim it is: agent, terminal, user, host, directory and prompt, also on another machine', async () => {
  await using world = new LockWorld()
  const origin = {
    agent: 'Claude Code',
    terminal: 'pts/3',
    tmux_pane: '%5',
    hostname: 'box',
    user: 'ada',
    directory: '/src/app',
    prompt: 'tidy \u001B[2J up',
  }
  const seen = 'Claude Code in pts/3 (tmux %5), ada@box, /src/app: “tidy \\u001b[2J up”'
  world.plantClaim({ session_id: 'theirs', origin })
  const refused = await world.lock(['acquire', '--session', 'me'])
  expect(errorOf(refused)).toMatchObject({ code: 'LOCK_HELD', holder: { origin } })
  expect(errorOf(refused)?.message).toContain(`is held by theirs, ${seen}`)
  expect(dataOf(await world.lock(['status']))).toMatchObject({ claims: [{ origin }] })
})

test('a claim from the command line says where it was made', async () => {
  await using world = new LockWorld()
  world.env.TMUX_PANE = '%7'
  await world.lock(['acquire', '--session', 'me'])
  expect(dataOf(await world.lock(['status']))).toMatchObject({
    claims: [{ origin: { tmux_pane: '%7', user: userInfo().username, directory: world.workspace } }],
  })
})
