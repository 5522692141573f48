import {
  chownSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { basename, join } from 'node:path'
import { expect, test } from 'vitest'
import { ensureHome } from '../../base/fs/home.ts'
import { deadPid, plant } from '../../../test/support/plant.ts'
import { Terminal } from '../../../test/support/terminal.ts'
import { treeHash } from '../../../test/support/tree-hash.ts'
import { isRoot, until, World } from '../../../test/support/world.ts'
import { errorTable } from '../../base/errors/error-table.ts'
import { newRequestId, newSessionId, ulid } from '../../base/text/id.ts'
import { ownIdentity } from '../../base/process/liveness.ts'
import { openRoot } from '../../scratch/root.ts'
import { sweep as sweepNow } from '../sweep.ts'
import { renderSweep, type SweepData, sweepFailure } from './sweep.ts'

const dead = () => ({ ...ownIdentity(), pid: deadPid })

/** A root and a home with one removable entry of each kind. */
class FullWorld extends World {
  readonly home = join(this.tmp, 'home')
  readonly sessions = join(this.home, 'trash')
  readonly entries: Record<'scratch' | 'outputs' | 'trash' | 'sessions', string>

  constructor() {
    super()
    this.env.STINT_HOME = this.home
    ensureHome(this.home)
    this.entries = {
      scratch: plant(this, dead()),
      outputs: this.place(join(this.root, 'out'), `${newRequestId()}-1`),
      trash: this.place(join(this.root, 'trash'), newRequestId()),
      sessions: this.placeSession(`${newSessionId()}-1`),
    }
  }

  place(directory: string, name: string): string {
    const path = join(directory, name)
    mkdirSync(path, { recursive: true, mode: 0o700 })
    writeFileSync(join(path, 'file'), '123')
    return path
  }

  /** Makes a session in the trash. */
  placeSession(name: string): string {
    const path = this.place(this.sessions, name)
    writeFileSync(join(path, 'manifest.json'), '')
    return path
  }

  async sweep(...flags: string[]): Promise<SweepData> {
    return (await this.stint(['sweep', '--json', ...flags])).envelope().data as SweepData
  }
}

const scopes = ['all', 'sessions']

test('--scope sessions removes removed sessions, and nothing else', async () => {
  await using world = new FullWorld()
  const { removed, failures } = await world.sweep('--scope', 'sessions')
  expect(removed).toMatchObject([{ path: world.entries.sessions, type: 'directory' }])
  expect(failures).toEqual([])
  const { scratch, outputs, trash } = world.entries
  expect([scratch, outputs, trash].filter((path) => !existsSync(path))).toEqual([])
})

test('--scope all, the default, removes everything but sessions', async () => {
  for (const flags of [[], ['--scope', 'all']]) {
    await using world = new FullWorld()
    const { removed, bytes_freed, disk_bytes_freed } = await world.sweep(...flags)
    expect(removed.map(({ path, reason }) => [path, reason])).toEqual([
      [world.entries.trash, 'trash'],
      [world.entries.outputs, 'expired'],
      [world.entries.scratch, 'owner-dead'],
    ])
    expect(bytes_freed).toBe(removed.reduce((sum, { bytes }) => sum + bytes, 0))
    expect(disk_bytes_freed).toBe(removed.reduce((sum, { disk_bytes }) => sum + disk_bytes, 0))
    expect(existsSync(world.entries.sessions)).toBe(true)
  }
})

test('--dry-run changes nothing in any scope, and reports exactly what the sweep then does', async () => {
  await using world = new FullWorld()
  plant(world, ownIdentity())
  for (const scope of scopes) {
    const before = treeHash(world.tmp)
    const would = await world.sweep('--dry-run', '--scope', scope)
    expect(treeHash(world.tmp)).toBe(before)
    expect(would).toMatchObject({ dry_run: true })
    expect(would.removed).toHaveLength(scope === 'all' ? 3 : 1)
  }
  const would = await world.sweep('--dry-run')
  expect(await world.sweep()).toEqual({ ...would, dry_run: false })
})

test('a dry run without a root or a home creates nothing', async () => {
  await using world = new World()
  for (const scope of scopes) await world.stint(['sweep', '--dry-run', '--scope', scope])
  expect(readdirSync(world.tmp)).toEqual([])
})

test('only own directories with the name and the manifest of a session are removed from the session trash', async () => {
  await using world = new FullWorld()
  const gone = ['agent.7', `${newSessionId()}-${newRequestId()}`, 'a'.repeat(128), `${'a'.repeat(128)}-2`]
  for (const name of gone) world.placeSession(name)
  const kept: Record<string, string> = {
    '.hidden': 'not-stint',
    'with space': 'not-stint',
    [`${'a'.repeat(129)}`]: 'not-stint',
  }
  for (const name of Object.keys(kept)) world.placeSession(name)
  for (const name of ['photos', 'linked', 'nested']) {
    kept[name] = 'not-stint'
    world.place(world.sessions, name)
  }
  symlinkSync('file', join(world.sessions, 'linked/manifest.json'))
  mkdirSync(join(world.sessions, 'nested/manifest.json'))
  writeFileSync(join(world.sessions, newSessionId()), 'a file')
  symlinkSync(world.place(world.tmp, 'outside'), join(world.sessions, 'link'))
  if (isRoot) {
    kept['foreign'] = 'foreign-owner'
    chownSync(world.placeSession('foreign'), 65534, 65534)
  }
  const report = await world.sweep('--scope', 'sessions')
  expect(report.removed.map(({ path }) => basename(path)).sort()).toEqual(
    [...gone, basename(world.entries.sessions)].sort(),
  )
  for (const [name, reason] of Object.entries({ ...kept, link: 'symlink' }))
    expect(report.kept).toContainEqual({ path: join(world.sessions, name), reason })
  expect(report.kept).toHaveLength(Object.keys(kept).length + 2)
  expect(existsSync(join(world.tmp, 'outside/file'))).toBe(true)
})

test('a link in place of the session trash is an error; a sweep of the rest does not look at the home', async () => {
  await using world = new FullWorld()
  const outside = world.place(world.tmp, 'outside')
  mkdirSync(join(outside, newSessionId()))
  world.env.STINT_HOME = join(world.tmp, 'other')
  mkdirSync(world.env.STINT_HOME)
  symlinkSync(outside, join(world.env.STINT_HOME, 'trash'))
  const refused = await world.stint(['sweep', '--json', '--scope', 'sessions'])
  expect([refused.code, refused.envelope().error?.code]).toEqual([4, 'HOME_UNSAFE'])
  expect(readdirSync(outside)).toHaveLength(2)
  expect((await world.sweep()).removed).toHaveLength(3)
})

test('--scope sessions removes sessions whose creator died before they were finished', async () => {
  await using world = new FullWorld()
  const sessions = join(world.home, 'sessions')
  const stage = (pid: number): string => {
    const path = world.place(sessions, `.new-${pid}-${ulid()}`)
    const tenMinutesAgo = Date.now() / 1000 - 600
    utimesSync(path, tenMinutesAgo, tenMinutesAgo)
    return path
  }
  const unfinished = stage(deadPid)
  const beingCreated = stage(process.pid)
  const session = world.place(sessions, newSessionId())

  expect(await removedPaths(world, '--scope', 'all')).not.toContain(unfinished)
  expect(await removedPaths(world, '--scope', 'sessions', '--older-than', '1h')).toEqual([])
  const would = await world.sweep('--scope', 'sessions', '--dry-run')
  expect(would.removed).toContainEqual({
    path: unfinished,
    type: 'directory',
    bytes: 3,
    disk_bytes: expect.any(Number),
    reason: 'unfinished-session',
  })
  expect(existsSync(unfinished)).toBe(true)
  expect(await world.sweep('--scope', 'sessions')).toEqual({ ...would, dry_run: false })
  expect(would.bytes_freed).toBe(would.removed.reduce((sum, { bytes }) => sum + bytes, 0))
  expect([unfinished, beingCreated, session].map((path) => existsSync(path))).toEqual([false, true, true])
})

test('the claims of sessions that are gone, and files of killed swaps, are swept; fences never come again', async () => {
  await using world = new FullWorld()
  const locks = join(world.home, 'locks')
  const lock = async (resource: string, ...args: string[]): Promise<Record<string, unknown>> => {
    const result = await world.stint(['lock', ...args, '--session', 'a', '--resource', resource, '--json'])
    return result.envelope().data as Record<string, unknown>
  }
  const gone = await lock('gone', 'acquire', '--ttl', '1ms')
  const held = await lock('held', 'acquire', '--ttl', '30d')
  const of = ({ workspace_key }: Record<string, unknown>): string => join(locks, String(workspace_key))
  const [staged, beingMade] = [join(of(held), `.${ulid()}`), join(of(held), `.${ulid()}`)]
  for (const path of [staged, beingMade]) writeFileSync(path, '')
  utimesSync(staged, 0, 0)

  const before = treeHash(world.home)
  const would = await world.sweep('--dry-run')
  expect(treeHash(world.home)).toBe(before)
  const swept = would.removed.filter(({ reason }) => reason === 'ended-claims').map(({ path }) => path)
  expect(swept.sort()).toEqual([of(gone), of(held)].sort())
  const sweepLocks = async (): Promise<string[]> =>
    (await removedPaths(world)).filter((path) => path.startsWith(locks))
  expect((await sweepLocks()).sort()).toEqual(swept)
  expect(await sweepLocks()).toEqual([])
  expect([staged, beingMade].map((path) => existsSync(path))).toEqual([false, true])
  const { claims } = JSON.parse(readFileSync(join(of(gone), '2'), 'utf8')) as { claims: unknown[] }
  expect(claims).toEqual([])
  expect(Number((await lock('gone', 'acquire')).fence)).toBeGreaterThan(Number(gone.fence))
  expect(await lock('held', 'status', '--fence', String(held.fence))).toMatchObject({ claims: [{}] })
})

test('old passes of sessions, and the prompts of dead agents, are removed', async () => {
  await using world = new FullWorld()
  const [old, young] = ['old', 'young'].map((name) => join(world.home, 'pass', name))
  const [gone, here] = ['gone', 'here'].map((name) => join(world.home, 'prompts', name))
  for (const name of ['pass', 'prompts']) mkdirSync(join(world.home, name), { mode: 0o700 })
  for (const path of [old, young]) writeFileSync(path ?? '', '')
  utimesSync(old ?? '', 0, 0)
  writeFileSync(gone ?? '', JSON.stringify({ words: 'x', agent: dead() }))
  writeFileSync(here ?? '', JSON.stringify({ words: 'x', agent: ownIdentity() }))
  await world.sweep()
  expect([old, young, gone, here].map((path) => existsSync(path ?? ''))).toEqual([false, true, false, true])
})

const removedPaths = async (world: FullWorld, ...flags: string[]): Promise<string[]> =>
  (await world.sweep(...flags)).removed.map(({ path }) => path)

test('a link in place of the sessions is an error, and nothing behind it is removed', async () => {
  await using world = new FullWorld()
  const outside = join(world.tmp, 'outside')
  const path = world.place(outside, `.new-${deadPid}-${ulid()}`)
  utimesSync(path, 0, 0)
  symlinkSync(outside, join(world.home, 'sessions'))
  const refused = await world.stint(['sweep', '--json', '--scope', 'sessions'])
  expect([refused.code, refused.envelope().error?.code]).toEqual([4, 'HOME_UNSAFE'])
  expect(existsSync(path)).toBe(true)
})

test('--older-than keeps younger entries, and makes nothing else removable', async () => {
  await using world = new FullWorld()
  const alive = plant(world, ownIdentity())
  const young = await world.sweep('--older-than', '1h')
  expect(young.removed).toEqual([])
  expect(young.kept).toHaveLength(4)
  expect(young.kept.filter(({ reason }) => reason === 'too-young')).toHaveLength(3)
  expect(young.kept).toContainEqual({ path: alive, reason: 'owner-alive' })
  expect((await world.sweep('--older-than', '1h', '--scope', 'sessions')).removed).toEqual([])
  expect((await world.sweep('--older-than', '0s')).removed).toHaveLength(3)
  expect(existsSync(alive)).toBe(true)
})

test('exactly that age is old enough for --older-than, which also applies to superseded scratches', async () => {
  await using world = new World()
  const path = plant(world, dead())
  for (let i = 0; i < 11; i++) plant(world, dead(), { keep: 'always', created_at: i })
  const root = openRoot({ STINT_TMP_ROOT: world.tmp })
  const at = (now: number) => ({ now: () => now, mono: () => 0 })
  const changedAt = Date.now() + 10_000
  const young = await sweepNow({ root, olderThanMs: 60_000, clock: at(changedAt) })
  expect(young.removed).toEqual([])
  expect(young.kept.filter(({ reason }) => reason === 'too-young')).toHaveLength(2)
  const old = await sweepNow({ root, olderThanMs: 60_000, clock: at(changedAt + 60_000) })
  expect(old.removed.map(({ reason }) => reason).sort()).toEqual(['owner-dead', 'superseded'])
  expect(existsSync(path)).toBe(false)
})

test.each([['--scope', 'everything'], ['--older-than', 'old'], ['--older-than'], ['what']])(
  'stint sweep %s %s is refused, and removes nothing',
  async (...flags) => {
    await using world = new FullWorld()
    const before = treeHash(world.tmp)
    const refused = await world.stint(['sweep', ...flags.filter((flag) => flag !== undefined)])
    expect([refused.code, refused.envelope().error?.code]).toEqual([2, 'ARG_ERROR'])
    expect(treeHash(world.tmp)).toBe(before)
  },
)

test('the rendered report has the largest removed entries, the notable kept ones and the totals', () => {
  const removed = Array.from({ length: 1000 }, (_, i) => ({
    path: `/tmp/stint-1/req_${i}`,
    type: 'directory' as const,
    bytes: i,
    disk_bytes: i * 1024,
    reason: i % 2 === 0 ? ('owner-dead' as const) : ('expired' as const),
  }))
  const kept = [
    ...Array.from({ length: 500 }, (_, i) => ({
      path: `/tmp/stint-1/a${i}`,
      reason: 'owner-alive' as const,
    })),
    { path: '/tmp/stint-1/link', reason: 'symlink' as const },
  ]
  const freed = { bytes_freed: 1 << 20, disk_bytes_freed: 1 << 30 }
  const text = renderSweep({ dry_run: false, removed, kept, failures: [], ...freed }, 80)
  const lines = text.split('\n')
  expect(lines).toHaveLength(24)
  expect(lines[0]).toBe('  999 KiB  expired     /tmp/stint-1/req_999')
  expect(lines[20]).toBe('  … and 980 more (--json lists them all)')
  expect(lines[21]).toBe('removed 1000, 1.0 GiB for 1.0 MiB of data (500 owner-dead, 500 expired)')
  expect(lines[22]).toBe('  kept  symlink  /tmp/stint-1/link')
  expect(lines[23]).toBe('kept 501 (500 owner-alive, 1 symlink)')
})

test('the error names the first failures in one line; the envelope has all of them', () => {
  const failures = Array.from({ length: 1000 }, (_, i) => ({
    path: `/x/${i}`,
    type: 'file' as const,
    error: 'EPERM',
  }))
  const error = sweepFailure({
    dry_run: false,
    removed: [],
    kept: [],
    failures,
    bytes_freed: 0,
    disk_bytes_freed: 0,
  })
  expect(error.message).toMatch(/could not remove \/x\/0 \(EPERM\), .* and 995 more$/)
  expect(error.options).toMatchObject({ data: { failures }, detail: 'removed=0 failures=1000' })
  expect(errorTable.PARTIAL_FAILURE.hint).toContain('each failure')
})

test('a terminal shows the entries, then the totals', async () => {
  await using world = new FullWorld()
  await using terminal = await Terminal.open(world)
  terminal.enter(`STINT_HOME=${world.home} stint sweep --scope sessions`)
  await terminal.shows(
    /[\d.]+ KiB {2}removed-session[^]*removed 1, [\d.]+ KiB \(1 removed-session\)\nkept 0\n/,
  )
  expect(terminal.screen()).not.toContain('sweeping')
})

test('Ctrl-C ends a sweep in the middle of a large scratch, and the next sweep removes the rest', async () => {
  await using world = new World()
  const scratch = plant(world, { ...ownIdentity(), pid: deadPid })
  for (let n = 0; n < 20_000; n++) writeFileSync(join(scratch, `file-${n}`), '')
  const trash = join(world.root, 'trash')
  const sweep = world.startStint(['sweep'])
  await until('the sweep removes it', () => existsSync(trash) && readdirSync(trash).length > 0)
  sweep.child.kill('SIGINT')
  expect(await sweep.finished).toMatchObject({ code: 130 })
  const [left = ''] = readdirSync(trash)
  expect(readdirSync(join(trash, left)).length).toBeGreaterThan(0)
  expect((await world.stint(['sweep'])).code).toBe(0)
  expect(readdirSync(trash)).toEqual([])
})

test('the sweep of the timer copies what is new into the vault, but makes no vault', async () => {
  await using world = new World()
  const id = '3f6c8a52-0e1d-4f7a-9b1c-2d3e4f5a6b04'
  const user = join(world.tmp, 'user')
  mkdirSync(join(user, '.claude/projects/p'), { recursive: true })
  writeFileSync(join(user, `.claude/projects/p/${id}.jsonl`), '{}\n')
  const env = { HOME: user, CLAUDE_CONFIG_DIR: '' }
  await world.stint(['sweep', '--vault', '--json'], { env })
  expect(existsSync(join(world.tmp, 'home/vault'))).toBe(false)
  await world.stint(['vault', 'sync', '--agent', 'codex', '--json'], { env })
  await world.stint(['sweep', '--vault', '--json'], { env })
  expect(existsSync(join(world.tmp, 'home/vault/claude', id))).toBe(true)
})
