import { execFileSync } from 'node:child_process'
import {
  chmodSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { validEnvelope } from '../../../test/support/envelope.ts'
import { buildHalfDead } from '../../../test/support/build-c.ts'
import { type Finished, isRoot, isRunning, stintBin, until, World } from '../../../test/support/world.ts'
import { computeWorkspaceHash } from '../../lease/workspace.ts'
import { identify, ownIdentity } from '../../primitives/liveness.ts'

/** A world with a home and a workspace of its own. */
class LockWorld extends World {
  readonly home = join(this.tmp, 'home')
  readonly workspace = join(this.tmp, 'work')

  constructor() {
    super()
    this.env.STINT_HOME = this.home
    mkdirSync(this.workspace)
  }

  get key(): string {
    return computeWorkspaceHash(this.workspace)
  }

  get locks(): string {
    return join(this.home, 'locks', this.key)
  }

  lock(args: string[], cwd: string = this.workspace): Promise<Finished> {
    return this.stint(['lock', ...args, '--json'], { cwd })
  }

  /** Plants a record as the newest epoch. */
  plant(text: string): void {
    mkdirSync(this.locks, { recursive: true, mode: 0o700 })
    const epochs = readdirSync(this.locks).map(Number)
    symlinkSync(text, join(this.locks, String(Math.max(0, ...epochs) + 1)))
  }

  plantClaim(claim: object, more: object = {}): void {
    const boot = ownIdentity().boot.slice(0, 8)
    const full = {
      session_id: 'planted',
      acquired_at: Date.now(),
      refreshed_at: Date.now(),
      ttl_ms: 300_000,
      fence: 1,
      ...claim,
    }
    this.plant(
      JSON.stringify({
        schema_version: 1,
        workspace: this.workspace,
        generation: 0,
        boot,
        claims: [full],
        ...more,
      }),
    )
  }
}

const dataOf = (result: Finished) => result.envelope().data as Record<string, unknown>
const errorOf = (result: Finished) => result.envelope().error

test('acquire, refuse, check, refresh, release: each with its envelope', async () => {
  await using world = new LockWorld()
  const mine = await world.lock(['acquire', '--session', 'mine', '--purpose', 'testing'])
  expect(mine.code).toBe(0)
  expect(dataOf(mine)).toEqual({
    acquired: true,
    session_id: 'mine',
    workspace: world.workspace,
    workspace_key: world.key,
    epoch: 1,
    fence: 1,
    expires_at: expect.any(Number),
  })
  const theirs = await world.lock(['acquire', '--session', 'theirs'])
  expect(theirs.code).toBe(4)
  expect(errorOf(theirs)).toMatchObject({
    code: 'LOCK_HELD',
    retryable: true,
    retry_after_ms: expect.any(Number),
    detail: expect.stringMatching(/^lock_file=.*\/1 holder_pid=- holder_age_ms=\d+$/),
    holder: {
      session_id: 'mine',
      pid: null,
      acquired_at: expect.any(Number),
      purpose: 'testing',
      liveness: 'unknown',
    },
  })
  expect(dataOf(await world.lock(['check', '--session', 'mine']))).toEqual({ held: true, fence: 1 })
  expect(dataOf(await world.lock(['check', '--session', 'theirs']))).toEqual({ held: false, fence: null })
  expect(dataOf(await world.lock(['refresh', '--session', 'mine']))).toMatchObject({
    refreshed: true,
    fence: 1,
  })
  expect(dataOf(await world.lock(['refresh', '--session', 'theirs']))).toEqual({ refreshed: false })
  expect(dataOf(await world.lock(['release', '--session', 'theirs']))).toEqual({ released: false })
  expect(dataOf(await world.lock(['release', '--session', 'mine']))).toEqual({ released: true })
  const lost = await world.lock(['check', '--session', 'mine', '--fence', '1'])
  expect([lost.code, errorOf(lost)?.code]).toEqual([4, 'LOCK_LOST'])
  expect(dataOf(await world.lock(['acquire', '--session', 'theirs']))).toMatchObject({ fence: 4 })
})

test('modes are 0700 for every directory of the home', async () => {
  await using world = new LockWorld()
  const script = 'umask 000; "$0" "$1" lock acquire --session a --json'
  await world.start('sh', ['-c', script, process.execPath, stintBin], { cwd: world.workspace }).finished
  for (const path of [world.home, join(world.home, 'locks'), world.locks])
    expect(statSync(path).mode & 0o777).toBe(0o700)
})

test('with --pid the claim ends with its process: reaped, unreaped, but not while another of its threads runs', async () => {
  await using world = new LockWorld()
  const take = async (session: string) => (await world.lock(['acquire', '--session', session])).code
  const sleeper = world.start('sleep', ['300'])
  await world.lock(['acquire', '--session', 'a', '--pid', String(sleeper.pid)])
  expect(await take('b')).toBe(4)
  sleeper.child.kill('SIGKILL')
  await sleeper.finished
  expect(await take('b')).toBe(0)
  await world.lock(['release', '--session', 'b'])

  const parent = world.start('sh', ['-c', 'sleep 300 & echo $!; exec sleep 301'])
  await until('the child has a pid', () => parent.output().stdout.endsWith('\n'))
  const zombie = Number(parent.output().stdout)
  await world.lock(['acquire', '--session', 'a', '--pid', String(zombie)])
  process.kill(zombie, 'SIGKILL')
  await until('it is a zombie', () => !isRunning(zombie))
  expect(await take('b')).toBe(0)
  await world.lock(['release', '--session', 'b'])

  const program = buildHalfDead(world.tmp)
  const halfDead = world.start(program, [])
  await until('only the other thread runs', () =>
    readFileSync(`/proc/${halfDead.pid}/stat`, 'utf8').includes(') Z '),
  )
  await world.lock(['acquire', '--session', 'a', '--pid', String(halfDead.pid)])
  expect(await take('b')).toBe(4)
  halfDead.child.kill('SIGKILL')
  await halfDead.finished
  expect(await take('b')).toBe(0)
})

test('a reused pid is dead; another pid namespace and another host are not provable', async () => {
  await using world = new LockWorld()
  const me = ownIdentity()
  const take = async () => (await world.lock(['acquire', '--session', 'me'])).code
  world.plantClaim({ holders: [{ ...me, pidns: '1', calls: [] }] })
  expect(await take()).toBe(4)
  world.plantClaim({ holders: [{ ...me, host: 'f'.repeat(32), calls: [] }] })
  expect(await take()).toBe(4)
  world.plantClaim({ holders: [{ ...me, started: 1, calls: [] }] })
  expect(await take()).toBe(0)
})

test('a holder in another pid namespace is refused a takeover from ours, and ours from there', async () => {
  await using world = new LockWorld()
  const sleeper = world.start('sleep', ['300'])
  await world.lock(['acquire', '--session', 'a', '--pid', String(sleeper.pid)])
  const args = [stintBin, 'lock', 'acquire', '--workspace', world.workspace, '--session', 'b', '--json']
  const inside = await world.unshare(['--pid', '--fork', '--mount-proc'], process.execPath, args)
  expect(inside.code).toBe(4)
  expect(inside.envelope().error).toMatchObject({ code: 'LOCK_HELD', holder: { liveness: 'unknown' } })
})

test('records that cannot be read, of another version or from the future lock nobody out for good', async () => {
  await using world = new LockWorld()
  const take = async (session: string) => (await world.lock(['acquire', '--session', session])).code
  const ages: [string, number, number][] = [
    ['garbage', 0, 4],
    ['garbage', 301, 0],
    ['{"schema_version":9}', 301, 0],
    [' ', 301, 0],
  ]
  for (const [text, ageSeconds, code] of ages) {
    world.plant(text)
    const top = join(world.locks, String(Math.max(...readdirSync(world.locks).map(Number))))
    const then = Date.now() / 1000 - ageSeconds
    await world.start('touch', ['-h', '-d', `@${then}`, top]).finished
    expect([text, ageSeconds, await take('a')]).toEqual([text, ageSeconds, code])
    if (code === 0) await world.lock(['release', '--session', 'a'])
  }
  world.plantClaim({ refreshed_at: Date.now() + 3_600_000, acquired_at: Date.now() + 3_600_000 })
  expect(await take('a')).toBe(0)
})

test('what a power loss leaves, an empty file on top from before this boot, holds nothing; fences jump ahead', async () => {
  await using world = new LockWorld()
  await world.lock(['acquire', '--session', 'before'])
  writeFileSync(join(world.locks, '2'), '')
  utimesSync(join(world.locks, '2'), 0, 0)
  const after = dataOf(await world.lock(['acquire', '--session', 'after']))
  expect(after).toMatchObject({ acquired: true, epoch: 3 })
  expect(after.fence).toBeGreaterThan(2 ** 20)
  await world.lock(['release', '--session', 'after'])
  world.plantClaim({}, { boot: 'another boot', generation: 3, claims: [] })
  const rebooted = dataOf(await world.lock(['acquire', '--session', 'after']))
  expect(rebooted.fence).toBe(4 * 2 ** 20 + Number(rebooted.epoch))
})

test('a path, the same with a slash, a link to it and a directory in the same git tree are one workspace', async () => {
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
  expect(await keyOf(submodule)).toBe(world.workspace)
  expect(await keyOf(worktree)).toBe(worktree)
})

test('two workspaces with one key are an error, not one lock', async () => {
  await using world = new LockWorld()
  world.plantClaim({}, { workspace: '/somewhere/else' })
  const result = await world.lock(['acquire', '--session', 'a'])
  expect([result.code, errorOf(result)?.code]).toEqual([6, 'LOCK_KEY_COLLISION'])
})

test('paths: api and ui at once, src refused while either is held; shared with shared, not with exclusive', async () => {
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
  expect(dataOf(await world.lock(['release', '--session', 'a', '--path', 'src/api']))).toEqual({
    released: true,
  })
  expect(await take('f', '--path', 'src/api')).toBe(0)
})

test('--wait: waits for a release, and gives up with LOCK_HELD when the time is over', async () => {
  await using world = new LockWorld()
  await world.lock(['acquire', '--session', 'a'])
  const late = await world.lock(['acquire', '--session', 'b', '--wait', '100ms'])
  expect([late.code, errorOf(late)?.code]).toEqual([4, 'LOCK_HELD'])
  const waiting = world.startStint(['lock', 'acquire', '--session', 'b', '--wait', '60s', '--json'], {
    cwd: world.workspace,
  })
  const watching = () => readdirSync(`/proc/${waiting.pid}/fd`).length > 15 || isRunning(waiting.pid)
  await until('it waits', watching)
  await world.lock(['release', '--session', 'a'])
  expect(dataOf(await waiting.finished)).toMatchObject({ acquired: true, session_id: 'b' })
})

test('status, list and watch tell who holds what', async () => {
  await using world = new LockWorld()
  const watcher = world.startStint(['lock', 'watch'], { cwd: world.workspace })
  const lines = () => watcher.output().stdout.trim().split('\n')
  await until('it says that it is free', () => lines().at(-1) === 'free')
  await world.lock(['acquire', '--session', 'a', '--purpose', 'why not', '--pid', String(process.pid)])
  await until('it says who came', () => lines().at(-1) === 'a fresh fence=1 why not')
  expect(dataOf(await world.lock(['status']))).toMatchObject({
    workspace: world.workspace,
    claims: [
      {
        session_id: 'a',
        pid: process.pid,
        standing: 'fresh',
        liveness: 'alive',
        holders: [{ pid: process.pid }],
      },
    ],
  })
  expect(dataOf(await world.lock(['list']))).toMatchObject({
    workspaces: [{ workspace: world.workspace, claims: [{}] }],
  })
  await world.lock(['release', '--session', 'a'])
  await until('it says that it is free again', () => lines().length === 3 && lines().at(-1) === 'free')
  watcher.child.kill('SIGINT')
  expect(await watcher.finished).toMatchObject({ code: 130, stderr: '' })
})

test('break: needs --yes where nobody can be asked; is recorded with who and why; the holder learns it', async () => {
  await using world = new LockWorld()
  const { fence } = dataOf(await world.lock(['acquire', '--session', 'theirs']))
  const unasked = await world.lock(['break', '--session', 'theirs'])
  expect([unasked.code, errorOf(unasked)?.code]).toEqual([2, 'ARG_ERROR'])
  expect((await world.lock(['break', '--session', 'nobody', '--yes'])).code).toBe(5)
  const broken = await world.lock(['break', '--session', 'theirs', '--reason', 'hung', '--yes'])
  expect(dataOf(broken)).toEqual({ broken: true, session_id: 'theirs', fence })
  expect(dataOf(await world.lock(['status']))).toMatchObject({
    claims: [],
    breaks: [{ session_id: 'theirs', reason: 'hung', by: expect.any(String), at: expect.any(Number) }],
  })
  expect((await world.lock(['check', '--session', 'theirs', '--fence', String(fence)])).code).toBe(4)
})

test('run --lock holds the workspace for the program, exports the fence and gives it back at the end', async () => {
  await using world = new LockWorld()
  const script = `echo "$STINT_FENCE $STINT_SESSION_ID $STINT_WORKSPACE"; "$0" "$1" lock acquire --session other --json; "$0" "$1" lock status --json`
  const result = await world.stint(
    ['run', '--lock', '--session', 'mine', '--', 'sh', '-c', script, process.execPath, stintBin],
    {
      cwd: world.workspace,
    },
  )
  const [exported, refused = '', status = ''] = result.stdout.trim().split('\n')
  expect(exported).toBe(`1 mine ${world.workspace}`)
  expect(validEnvelope(`${refused}\n`)).toMatchObject({
    error: { code: 'LOCK_HELD', holder: { session_id: 'mine', liveness: 'alive' } },
  })
  expect(validEnvelope(`${status}\n`)).toMatchObject({ data: { claims: [{ holders: [{}, {}] }] } })
  expect(dataOf(await world.lock(['status']))).toMatchObject({ claims: [] })
})

test('run --lock: refused at once, or after --wait; SIGTERM gives it back; SIGKILL frees it through the guard', async () => {
  await using world = new LockWorld()
  const start = (...flags: string[]) =>
    world.startStint(['run', '--lock', ...flags, '--', 'sh', '-c', 'echo up; exec sleep 300'], {
      cwd: world.workspace,
    })
  const first = start('--session', 'a')
  await until('it is up', () => first.output().stdout === 'up\n')
  const refused = await world.stint(['run', '--lock', '--json', '--', 'true'], { cwd: world.workspace })
  expect([refused.code, errorOf(refused)?.code]).toEqual([4, 'LOCK_HELD'])
  const second = start('--session', 'b', '--wait', '60s')
  first.child.kill('SIGTERM')
  expect((await first.finished).code).toBe(143)
  await until('the second has it', () => second.output().stdout === 'up\n')
  second.child.kill('SIGKILL')
  await until('it is free', () => !isRunning(second.pid))
  const third = await world.stint(['run', '--lock', '--wait', '30s', '--', 'true'], { cwd: world.workspace })
  expect(third.code).toBe(0)
})

test('run --lock without a guard: killing stint does not free the workspace while its program still writes', async () => {
  await using world = new LockWorld()
  const run = world.startStint(
    ['run', '--lock', '--no-guard', '--session', 'a', '--', 'sh', '-c', 'echo $$; exec sleep 300'],
    {
      cwd: world.workspace,
    },
  )
  await until('the program has said its pid', () => run.output().stdout.endsWith('\n'))
  const program = Number(run.output().stdout)
  await until('it is a holder', async () => identify(program) !== undefined)
  const holders = async () => {
    const [claim] = dataOf(await world.lock(['status'])).claims as { holders: unknown[] }[]
    return claim?.holders.length
  }
  while ((await holders()) !== 2);
  run.child.kill('SIGKILL')
  await until('stint is dead', () => !isRunning(run.pid))
  expect((await world.lock(['acquire', '--session', 'b'])).code).toBe(4)
  process.kill(program, 'SIGKILL')
  await until('the program is dead', () => !isRunning(program))
  expect((await world.lock(['acquire', '--session', 'b'])).code).toBe(0)
})

test('run --lock inside a session that holds the workspace already joins its claim, and leaves it as it was', async () => {
  await using world = new LockWorld()
  await world.lock(['acquire', '--session', 'agent', '--pid', String(process.pid)])
  const inside = await world.stint(
    ['run', '--lock', '--session', 'agent', '--', 'sh', '-c', 'echo "$STINT_FENCE"'],
    {
      cwd: world.workspace,
    },
  )
  expect(inside.stdout).toBe('1\n')
  expect(dataOf(await world.lock(['status']))).toMatchObject({
    claims: [{ session_id: 'agent', fence: 1, holders: [{ pid: process.pid }] }],
  })
})

test.each(['kill', 'warn'])('a lease that is lost while the program runs: --on-lost %s', async (what) => {
  await using world = new LockWorld()
  const script = 'echo up; until [ -e done ]; do sleep 0.01; done'
  const flags = ['--lock', '--session', 'a', '--on-lost', what]
  const run = world.startStint(['run', ...flags, '--', 'sh', '-c', script], { cwd: world.workspace })
  await until('it is up', () => run.output().stdout === 'up\n')
  await world.lock(['break', '--session', 'a', '--yes'])
  await until('it says so', () => run.output().stderr.includes('LOCK_LOST'))
  if (what === 'warn') writeFileSync(join(world.workspace, 'done'), '')
  expect((await run.finished).code).toBe(what === 'kill' ? 4 : 0)
})

test('a read-only, full or foreign home: a coded error, never a hang, never "acquired"', async () => {
  await using world = new LockWorld()
  const acquire = '"$0" "$1" lock acquire --session a --workspace / --json; echo "exit $?"'
  const inMount = async (mount: string, before = ':') => {
    const script = `mkdir -p "$STINT_HOME"; mount -t tmpfs ${mount} tmpfs "$STINT_HOME"; ${before}; ${acquire}`
    const [envelope = '', exit] = (
      await world.unshare(['--mount'], 'sh', ['-c', script, process.execPath, stintBin])
    ).stdout
      .trim()
      .split('\n')
    return [validEnvelope(`${envelope}\n`).error?.code, exit]
  }
  expect(await inMount('-o ro')).toEqual(['READ_ONLY', 'exit 4'])
  expect(await inMount('-o size=16k,mode=0700', 'cat /dev/zero > "$STINT_HOME/x" 2>/dev/null')).toEqual([
    'DISK_FULL',
    'exit 12',
  ])
  if (isRoot) {
    chmodSync(world.tmp, 0o755)
    mkdirSync(join(world.tmp, 'locked'), { mode: 0o500 })
    const denied = await world.stint(['lock', 'acquire', '--session', 'a', '--workspace', '/', '--json'], {
      uid: 65534,
      gid: 65534,
      cwd: '/',
      env: { STINT_HOME: join(world.tmp, 'locked', 'home') },
    })
    expect([denied.code, errorOf(denied)?.code]).toEqual([7, 'PERMISSION_DENIED'])
  }
  writeFileSync(join(world.tmp, 'file'), '')
  const file = await world.stint(['lock', 'acquire', '--session', 'a', '--json'], {
    cwd: world.workspace,
    env: { STINT_HOME: join(world.tmp, 'file') },
  })
  expect([file.code, errorOf(file)?.code]).toEqual([4, 'HOME_UNSAFE'])
})

test.each([
  [['acquire', '--session', '..'], 2],
  [['acquire', '--session', 'a', '--ttl', '0'], 2],
  [['acquire', '--session', 'a', '--ttl', '400d'], 2],
  [['acquire', '--session', 'a', '--pid', 'x'], 2],
  [['acquire', '--session', 'a', '--pid', '-1'], 2],
  [['acquire', '--session', 'a', '--workspace', '/no/such/directory'], 5],
  [['refresh'], 2],
  [['check', '--session', 'a', '--fence', 'x'], 2],
  [['break'], 2],
  [['frobnicate'], 2],
])('bad arguments %j: exit %i and nothing has happened', async (args, code) => {
  await using world = new LockWorld()
  const result = await world.lock(args)
  expect(result.code).toBe(code)
  expect(result.envelope().ok).toBe(false)
  expect(readdirSync(world.tmp)).toEqual(['work'])
})
