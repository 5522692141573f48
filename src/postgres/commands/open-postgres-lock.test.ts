import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { hostname, userInfo } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { dataOf, errorOf } from '../../../test/support/lock-world.ts'
import { PostgresServer } from '../../../test/support/postgres.ts'
import { postgresWorld } from '../../../test/support/postgres-world.ts'
import { stintBin, until } from '../../../test/support/world.ts'

let server: PostgresServer
beforeAll(async () => {
  server = await PostgresServer.start()
})
afterAll(() => server[Symbol.asyncDispose]())

function clone(path: string, origin: string): string {
  mkdirSync(join(path, 'src'), { recursive: true })
  execFileSync('git', ['init', '-q', path])
  execFileSync('git', ['-C', path, 'remote', 'add', 'origin', origin])
  return path
}

test('two clones of a repository share a lease, whatever their URLs; its paths are relative to the repository', async () => {
  await using world = await postgresWorld(server)
  const one = clone(join(world.tmp, 'one'), 'git@example.com:team/app.git')
  const two = clone(join(world.tmp, 'two'), 'https://token@example.com/Team/app')
  const first = await world.lock(['acquire', '--session', 'a', '--purpose', 'routes', '--path', 'src'], one)
  expect(dataOf(first)).toMatchObject({
    acquired: true,
    workspace: 'example.com/team/app',
    workspace_key: 'git:example.com/team/app',
    fence: expect.any(Number),
  })
  const refused = await world.lock(['acquire', '--session', 'b'], two)
  expect([refused.code, errorOf(refused)]).toMatchObject([
    4,
    { code: 'LOCK_HELD', holder: { session_id: 'a', purpose: 'routes' } },
  ])
  // Case is ignored, because some file systems ignore it.
  expect((await world.lock(['acquire', '--session', 'b', '--path', 'SRC/api'], two)).code).toBe(4)
  expect((await world.lock(['acquire', '--session', 'b', '--path', 'docs'], two)).code).toBe(0)
  expect(dataOf(await world.lock(['status'], two))).toMatchObject({
    claims: [
      { session_id: 'a', paths: ['src'], state: 'held' },
      { session_id: 'b', paths: ['docs'] },
    ],
  })
  expect(existsSync(world.home)).toBe(false)
})

const origin = { hostname: hostname(), user: userInfo().username }

test('every lock command works on a resource on the server', async () => {
  await using world = await postgresWorld(server)
  const on = ['--resource', 'deploy:prod']
  const { fence } = dataOf(await world.lock(['acquire', '--session', 'a', ...on]))
  expect((await world.lock(['acquire', '--session', 'b', ...on])).code).toBe(4)
  expect(dataOf(await world.lock(['acquire', '--session', 'a', ...on]))).toMatchObject({ fence })
  const since = ['--session', 'a', '--fence', String(fence), ...on]
  expect(dataOf(await world.lock(['status', ...since]))).toMatchObject({ claims: [{ fence }] })
  expect(dataOf(await world.lock(['status', '--all']))).toMatchObject({
    workspaces: [
      {
        resource: 'deploy:prod',
        workspace_key: 'resource:deploy:prod',
        claims: [{ session_id: 'a', origin }],
      },
    ],
    unreadable: [],
  })
  expect(
    dataOf(await world.lock(['break', '--session', 'a', '--reason', 'hung', '--yes', ...on])),
  ).toMatchObject({ broken: true })
  expect((await world.lock(['status', '--session', 'a', '--fence', String(fence), ...on])).code).toBe(4)
  const next = dataOf(await world.lock(['acquire', '--session', 'b', ...on]))
  expect(next.fence).toBeGreaterThan(Number(fence))
  expect(dataOf(await world.lock(['status', ...on]))).toMatchObject({
    resource: 'deploy:prod',
    claims: [{ session_id: 'b' }],
    breaks: [{ session_id: 'a', reason: 'hung' }],
  })
  expect(dataOf(await world.lock(['release', '--session', 'b', ...on]))).toMatchObject({ released: true })
  expect(dataOf(await world.lock(['status', '--all']))).toMatchObject({ workspaces: [] })
  expect(dataOf(await world.lock(['history', ...on]))).toMatchObject({
    activities: [
      { kind: 'grant', session_id: 'a' },
      { kind: 'refusal', session_id: 'b', by: 'a' },
      { kind: 'break', session_id: 'a', reason: 'hung' },
      { kind: 'grant', session_id: 'b' },
      { kind: 'release', session_id: 'b' },
    ],
  })
})

test('lock status --watch prints each change', async () => {
  await using world = await postgresWorld(server)
  const args = ['lock', 'status', '--watch', '--interval', '50ms', '--resource', 'db']
  const watch = world.startStint(args, { cwd: world.workspace })
  await until('it prints free', () => watch.output().stdout.startsWith('db is free\n'))
  await world.lock(['acquire', '--session', 'a', '--resource', 'db'])
  await until('it prints the holder', () => /\ndb\n {2}a {2}held for /.test(watch.output().stdout))
  watch.child.kill('SIGTERM')
  expect((await watch.finished).code).toBe(143)
})

test('run --lock holds the lease on the server while the program runs, which can check it, and releases it at the end', async () => {
  await using world = await postgresWorld(server)
  const check = `"$0" "$1" lock status --json --resource deploy:prod --fence "$STINT_FENCE"; env > seen`
  const flags = ['--lock', '--resource', 'deploy:prod', '--session', 'a']
  const run = await world.stint(['run', ...flags, '--', 'sh', '-c', check, process.execPath, stintBin], {
    cwd: world.workspace,
  })
  expect(run).toMatchObject({ code: 0, stderr: '' })
  expect(JSON.parse(run.stdout)).toMatchObject({ ok: true, data: { claims: [{}] } })
  expect(readFileSync(join(world.workspace, 'seen'), 'utf8')).not.toContain('STINT_WORKSPACE=')
  expect(dataOf(await world.lock(['status', '--resource', 'deploy:prod']))).toMatchObject({ claims: [] })
})

test.each(['SIGTERM', 'SIGKILL'] as const)(
  'run --lock: after %s the next session on this machine gets the lease at once',
  async (signal) => {
    await using world = await postgresWorld(server)
    const run = world.startStint(
      ['run', '--lock', '--session', 'a', '--', 'sh', '-c', ': > up; exec sleep 600'],
      {
        cwd: world.workspace,
      },
    )
    await until('it runs', () => existsSync(join(world.workspace, 'up')))
    expect((await world.lock(['acquire', '--session', 'b'])).code).toBe(4)
    run.child.kill(signal)
    await run.finished
    const next = await world.lock(['acquire', '--session', 'b', '--wait', '60s'])
    expect(dataOf(next)).toMatchObject({ acquired: true, workspace: world.workspace })
  },
)

test('run --lock: a lease that is broken on the server ends the program', async () => {
  await using world = await postgresWorld(server)
  const run = world.startStint(
    ['run', '--lock', '--session', 'a', '--', 'sh', '-c', ': > up; exec sleep 600'],
    {
      cwd: world.workspace,
    },
  )
  await until('it runs', () => existsSync(join(world.workspace, 'up')))
  await world.lock(['break', '--session', 'a', '--yes'])
  const { code, stderr } = await run.finished
  expect(code).toBe(4)
  expect(stderr).toContain('LOCK_LOST')
})

test('run --lock: a run that was suspended for longer than its TTL finds that another session has the lease, and ends its program', async () => {
  await using world = await postgresWorld(server)
  const on = ['--resource', 'deploy:prod', '--ttl', '1s']
  const program = ['sh', '-c', ': > up; exec sleep 600']
  const run = world.startStint(['run', '--lock', '--session', 'a', ...on, '--', ...program], {
    cwd: world.workspace,
  })
  await until('it runs', () => existsSync(join(world.workspace, 'up')))
  run.child.kill('SIGSTOP')
  const next = await world.lock(['acquire', '--session', 'b', '--wait', '60s', ...on.with(3, '10m')])
  expect(dataOf(next)).toMatchObject({ acquired: true, session_id: 'b' })
  run.child.kill('SIGCONT')
  const { code, stderr } = await run.finished
  expect([code, stderr]).toEqual([4, expect.stringContaining('LOCK_LOST')])
  expect(dataOf(await world.lock(['status', '--resource', 'deploy:prod']))).toMatchObject({
    claims: [{ session_id: 'b' }],
  })
})

test('an acquire that is interrupted while it is granted the lease holds nothing, even if the local clock is ahead', async () => {
  await using world = await postgresWorld(server)
  const ahead = join(world.tmp, 'ahead.cjs')
  writeFileSync(ahead, 'const { now } = Date; Date.now = () => now() + 3_600_000')
  const acquire = ['lock', 'acquire', '--session', 'a', '--resource', 'r', '--json']
  const release = ['release', '--session', 'a', '--resource', 'r']
  await world.stint(acquire)
  await world.lock(release)
  const pool = server.pool({ database: world.database })
  for (let stopped = false; !stopped;) {
    const blocker = await pool.connect()
    await blocker.query('BEGIN; SELECT FROM stint.register FOR UPDATE')
    const acquiring = world.startStint(acquire, { env: { NODE_OPTIONS: `--require ${ahead}` } })
    await until('its claim waits for the row', async () => {
      const waiting = `SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = '${world.database}'`
      return (await server.admin(waiting)).length > 0
    })
    acquiring.child.kill('SIGTERM')
    await blocker.query('ROLLBACK')
    blocker.release()
    // The claim may be granted before the signal arrives: then try again.
    stopped = (await acquiring.finished).code === 143
    if (!stopped) await world.lock(release)
  }
  expect(dataOf(await world.lock(['status', '--resource', 'r']))).toMatchObject({ claims: [] })
})

test('--store takes precedence over STINT_STORE, also in the program of run --lock', async () => {
  await using world = await postgresWorld(server)
  const url = world.env.STINT_STORE ?? ''
  world.env.STINT_STORE = 'files'
  expect((await world.lock(['acquire', '--session', 'a'])).code).toBe(0)
  expect((await world.lock(['acquire', '--session', 'b', '--store', url])).code).toBe(0)
  expect(dataOf(await world.lock(['status']))).toMatchObject({ claims: [{ session_id: 'a' }] })
  expect(dataOf(await world.lock(['status', '--store', url]))).toMatchObject({
    claims: [{ session_id: 'b' }],
  })
  await world.lock(['release', '--session', 'b', '--store', url])
  writeFileSync(join(world.workspace, 'ask.sh'), `"$0" "$1" lock status --json --fence "$STINT_FENCE"`)
  const flags = ['run', '--lock', '--store', url, '--session', 'c', '--', 'sh', '-c', '. ./ask.sh']
  const run = await world.stint([...flags, process.execPath, stintBin], { cwd: world.workspace })
  expect(JSON.parse(run.stdout)).toMatchObject({ data: { claims: [{ session_id: 'c' }] } })
})
