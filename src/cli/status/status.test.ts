import { mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test, vi } from 'vitest'
import { ensureHome } from '../../base/fs/home.ts'
import { HookUser } from '../../../test/support/hook-user.ts'
import { deadPid, plant } from '../../../test/support/plant.ts'
import {
  type Finished,
  projectRoot,
  type Running,
  stintBin,
  until,
  type World,
} from '../../../test/support/world.ts'
import { ownIdentity } from '../../base/process/liveness.ts'
import { filesystemStore } from '../../session/files/medium.ts'
import type { StatusData } from './gather.ts'
import { stableFields } from './status.ts'

/** A user with a home, a workspace, and no agents. */
class User extends HookUser {
  readonly home = join(this.tmp, 'home')

  status(...args: string[]): Promise<Finished> {
    return this.stint(['status', ...args], { cwd: this.project })
  }

  async data(): Promise<StatusData> {
    return dataOf(await this.status('--json'))
  }

  /** Starts a run that lasts until it is ended. */
  async run(...args: string[]): Promise<Running> {
    const script = 'echo 12345 > "$TMPDIR/file"; echo up; exec sleep 1000'
    const running = this.startStint(['run', ...args, '--', 'sh', '-c', script], { cwd: this.project })
    await until('it runs', () => running.output().stdout.includes('up'))
    return running
  }
}

function dataOf(finished: Finished): StatusData {
  expect(finished.code).toBe(0)
  return finished.envelope().data as StatusData
}

const nothing = {
  root: null,
  workspaces: [],
  runs: [],
  sessions: { total: 0, states: { active: 0, closed: 0, crashed: 0, locked: 0, damaged: 0 }, open: [] },
  orphans: { count: 0, bytes: 0, disk_bytes: 0, files: 0, partial: false },
  points: { worktrees: 0, points: 0, bytes: 0 },
  hooks: [],
}

test('without a home and a temp root there is nothing to show or to do, and nothing is made', async () => {
  await using world = new User()
  const data = await world.data()
  const page = readFileSync(join(projectRoot, 'docs/status.md'), 'utf8')
  for (const name of Object.keys(data)) expect(page).toMatch(new RegExp(`^\\| .*\`${name}(\\[\\])?\``, 'm'))
  expect(data).toEqual({
    ...nothing,
    at: expect.any(Number),
    home: world.home,
    // The machine of the test may have agents.
    agents: data.agents,
    running: data.running,
    disk: data.disk,
    findings: [],
  })
  expect(data.disk.map(({ name, path }) => [name, path])).toEqual([
    ['home', world.home],
    ['temp', world.tmp],
  ])
  const { stdout } = await world.start('ls', ['-A', world.tmp]).finished
  expect(stdout).toBe('bin\nproject\nuser\n')
})

test('status shows who holds what, which runs are under way, and which sessions are open', async () => {
  await using world = new User()
  const running = await world.run('--session', 'mine', '--lock', '--purpose', 'a test')
  const store = filesystemStore({ home: world.home })
  await using session = await store.create({
    id: 'ses-open',
    tool: 'tester',
    title: 'a title',
    workspace: world.project,
  })
  await (await store.create({ id: 'ses-closed' })).close()
  const data = await world.data()
  expect(data.workspaces).toEqual([
    expect.objectContaining({ workspace: world.project, store: 'files', workspace_key: expect.any(String) }),
  ])
  expect(data.workspaces[0]?.claims).toEqual([
    expect.objectContaining({ session_id: 'mine', state: 'held', liveness: 'alive', purpose: 'a test' }),
  ])
  expect(data.runs).toEqual([
    expect.objectContaining({
      session_id: 'mine',
      command: 'sh',
      pid: running.pid,
      liveness: 'alive',
      partial: false,
    }),
  ])
  expect(data.runs[0]?.files).toBeGreaterThan(1)
  expect(data.runs[0]?.bytes).toBeGreaterThanOrEqual(6)
  expect(data.sessions).toMatchObject({ total: 2, states: { active: 1, closed: 1 } })
  expect(data.sessions.open).toMatchObject([
    {
      key: null,
      labels: {},
      session_id: session.id,
      state: 'active',
      tool: 'tester',
      title: 'a title',
      workspace: world.project,
      last_at: expect.any(Number),
      created_at: expect.any(Number),
      records: 0,
      bytes: expect.any(Number),
      disk_bytes: expect.any(Number),
      holder: expect.objectContaining({ pid: process.pid, liveness: 'alive' }),
    },
  ])
  expect(data.findings).toEqual([])
})

test('each problem is named with its fix, and gone when the fix is done', async () => {
  await using world = new User()
  plant(world, { ...ownIdentity(), pid: deadPid })
  mkdirSync(join(world.user, '.claude'))
  const broken = join(world.home, 'sessions/broken')
  ensureHome(world.home)
  mkdirSync(broken, { recursive: true, mode: 0o700 })
  writeFileSync(join(broken, 'manifest.json'), '{"schema":1', { mode: 0o600 })
  const before = await world.data()
  expect(before.orphans).toMatchObject({ count: 1, partial: false })
  expect(before.orphans.bytes).toBeGreaterThan(0)
  expect(before.findings.map(({ name, level, fix }) => [name, level, fix])).toEqual([
    ['sessions', 'fail', 'stint sessions repair broken'],
    ['orphans', 'warn', 'stint sweep'],
    ['hooks', 'warn', 'stint hook install claude'],
  ])
  await world.stint(['sweep'])
  await world.stint(['hook', 'install', 'claude'])
  rmSync(broken, { recursive: true })
  const after = await world.data()
  expect(after.findings).toEqual([])
  expect(after.hooks).toEqual([
    {
      agent: 'claude',
      place: 'user',
      path: join(world.user, '.claude/settings.json'),
      state: 'installed',
      undo: true,
    },
  ])
})

test('a part that cannot be looked at is a finding, and the rest is shown all the same', async () => {
  await using world = new User()
  await world.run('--session', 'mine', '--lock')
  const unsafe = join(world.tmp, 'elsewhere')
  mkdirSync(unsafe)
  symlinkSync(unsafe, join(unsafe, `stint-${process.geteuid?.()}`))
  const env = { STINT_TMP_ROOT: unsafe, HOME: 'relative', STINT_STORE: 'mysql://s3cret' }
  const data = dataOf(await world.stint(['status', '--json'], { env, cwd: world.project }))
  expect(data.workspaces).toHaveLength(1)
  expect(data.findings.map(({ name, level }) => [name, level])).toEqual([
    ['temp', 'fail'],
    ['postgres', 'fail'],
  ])
  const homeless = dataOf(await world.stint(['status', '--json'], { env: { STINT_HOME: 'relative' } }))
  expect(homeless.home).toBeNull()
  expect(homeless.runs).toHaveLength(1)
  expect(homeless.findings[0]).toMatchObject({ name: 'home', level: 'fail' })
  const text = await world.stint(['status'], { env: { STINT_HOME: 'relative', STINT_OUTPUT: '' } })
  expect(text.stdout).toMatch(/^Home +unusable$/m)
})

const inMount = (world: World, options: string, script: string): Promise<Finished> => {
  const mount = `mkdir -p "$STINT_HOME" && mount -t tmpfs -o mode=700,${options} tmpfs "$STINT_HOME"`
  const line = `${mount} && "$0" "$1" lock acquire --session a --resource r >/dev/null; ${script}; "$0" "$1" status --json`
  return world.unshare(['--mount'], 'sh', ['-c', line, process.execPath, stintBin])
}

test('status works on a full disk and on a read-only one', async () => {
  await using world = new User()
  const full = dataOf(
    await inMount(world, 'size=1m', 'head -c 2000000 /dev/zero > "$STINT_HOME/full" 2>/dev/null'),
  )
  expect(full.findings).toContainEqual(expect.objectContaining({ name: 'home disk', level: 'fail' }))
  expect(full.workspaces).toEqual([expect.objectContaining({ resource: 'r' })])
  const session = 'mkdir -p "$STINT_HOME/sessions/broken/lock"; mount -o remount,ro "$STINT_HOME"'
  const closed = dataOf(await inMount(world, 'size=100m', session))
  expect(closed.workspaces).toEqual([expect.objectContaining({ resource: 'r' })])
  expect(closed.sessions.states.damaged).toBe(1)
})

test('a scratch that is too large to be measured in time is shown with a lower bound', async () => {
  await using world = new User()
  const path = plant(world, ownIdentity())
  const { measureEntries } = await import('../../sweep/inventory.ts')
  for (let file = 0; file < 600; file++) writeFileSync(join(path, `file-${file}`), '1')
  vi.stubEnv('STINT_TMP_ROOT', world.tmp)
  try {
    const [whole] = await measureEntries(Date.now())
    expect(whole).toMatchObject({ files: 602 })
    expect(whole).not.toHaveProperty('partial')
    const [some] = await measureEntries(Date.now(), -1)
    expect(some).toMatchObject({ partial: true, files: 0 })
  } finally {
    vi.unstubAllEnvs()
  }
})

test('--watch in a pipe prints a block at first and for each change, but not for a new age or size', async () => {
  await using world = new User()
  const watching = world.startStint(['status', '--watch', '--interval', '50ms', '--json'], {
    cwd: world.project,
  })
  const blocks = (): StatusData[] =>
    watching
      .output()
      .stdout.split('\n')
      .slice(0, -1)
      .map((line) => JSON.parse(line) as StatusData)
  await until('the first', () => blocks().length === 1)
  const running = await world.run('--session', 'mine', '--lock')
  await until(
    'the run and its claim',
    () => blocks().at(-1)?.runs.length === 1 && blocks().at(-1)?.workspaces.length === 1,
  )
  const seen = blocks().length
  running.child.kill('SIGTERM')
  await running.finished
  await until(
    'it is over',
    () => blocks().at(-1)?.runs.length === 0 && blocks().at(-1)?.workspaces.length === 0,
  )
  expect(blocks().length).toBeGreaterThan(seen)
  // It looks many more times than something happens: two blocks in a row always differ.
  const stable = blocks().map((data) => JSON.stringify(stableFields(data)))
  for (const [index, part] of stable.entries()) expect(part).not.toBe(stable[index - 1])
  process.kill(watching.pid, 'SIGINT')
  expect(await watching.finished).toMatchObject({ code: 130, stderr: '' })
})

test('--watch in a pipe without --json prints plain blocks, and ends when the reader is gone', async () => {
  await using world = new User()
  const watching = world.start(
    'sh',
    [
      '-c',
      '"$0" "$1" status --watch --interval 50ms | { sed "/^To do/q"; echo read >&2; }',
      process.execPath,
      stintBin,
    ],
    { cwd: world.project },
  )
  await until('the first is read', () => watching.output().stderr.includes('read'))
  plant(world, { ...ownIdentity(), pid: deadPid })
  const { code, stdout, stderr } = await watching.finished
  expect([code, stderr]).toEqual([0, 'read\n'])
  const titles = stdout.replaceAll(/ .*$/gm, '').split('\n')
  expect(titles.filter((title) => title !== '')).toEqual([
    'Home',
    'Temp',
    'Disk',
    'Agents',
    'Now',
    'Runs',
    'Sessions',
    'To',
  ])
  expect(stdout).not.toContain('\x1b')
})

test('options that do not go together are refused', async () => {
  await using world = new User()
  for (const args of [['--interval', '1s'], ['--watch', '--interval', '10ms'], ['extra']]) {
    const { code, stderr, stdout } = await world.status(...args)
    expect(code).toBe(2)
    expect(stdout + stderr).toContain('ARG_ERROR')
  }
})
