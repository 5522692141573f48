import { execFileSync } from 'node:child_process'
import {
  chmodSync,
  chownSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { basename, join } from 'node:path'
import { expect, test } from 'vitest'
import { du } from '../../../test/support/du.ts'
import { deadPid, plant } from '../../../test/support/plant.ts'
import { dataOf, dead, find, list, temp } from '../../../test/support/temp-commands.ts'
import { Terminal } from '../../../test/support/terminal.ts'
import { isRoot, isRunning, type Running, until, World } from '../../../test/support/world.ts'
import { newRequestId } from '../../base/text/id.ts'
import { readOwner } from '../../scratch/owner.ts'

/** Starts `stint run` with a program that runs until it is ended; it does not sweep at its start. */
async function startRun(world: World, ...flags: string[]): Promise<Running> {
  mkdirSync(join(world.root, 'trash'), { recursive: true, mode: 0o700 })
  writeFileSync(join(world.root, 'trash/.swept'), '')
  const run = world.startStint([
    'run',
    ...flags,
    '--',
    'sh',
    '-c',
    'echo 12345 > "$TMPDIR/f"; echo up; sleep 300',
  ])
  await until('it is up', () => run.output().stdout.includes('up'))
  return run
}

const output = (world: World, expiresAt: number): string => {
  const path = join(world.root, 'out', `${newRequestId()}-${Math.round(expiresAt / 1000)}`)
  mkdirSync(path, { recursive: true, mode: 0o700 })
  writeFileSync(join(path, 'report'), '123')
  utimesSync(path, expiresAt / 1000, expiresAt / 1000)
  return path
}

test('without a root there is nothing to list or check, no history, and nothing is created', async () => {
  await using world = new World()
  const zero = {
    entries: 0,
    scratches: 0,
    live: 0,
    orphans: 0,
    files: 0,
    directories: 0,
    bytes: 0,
    disk_bytes: 0,
  }
  expect(dataOf(await temp(world, 'list'))).toEqual({ root: null, entries: [], total: zero })
  expect(dataOf(await temp(world, 'stats'))).toMatchObject({ now: zero, largest: [], history: null })
  expect(await temp(world, 'check')).toMatchObject({ code: 0 })
  const why = await temp(world, 'why', 'x')
  expect([why.code, why.envelope().error?.code]).toEqual([5, 'NOT_FOUND'])
  expect(readdirSync(world.tmp)).toEqual([])
})

test('every command accepts an empty root, and refuses a symlinked one with TEMP_DIR_UNSAFE', async () => {
  await using world = new World()
  mkdirSync(world.root, { mode: 0o700 })
  expect(await list(world)).toEqual([])
  expect((await temp(world, 'check')).code).toBe(0)
  renameSync(world.root, join(world.tmp, 'elsewhere'))
  symlinkSync(join(world.tmp, 'elsewhere'), world.root)
  for (const args of [['list'], ['stats'], ['check'], ['why', 'x']]) {
    const result = await temp(world, ...args)
    expect([result.code, result.envelope().error?.code]).toEqual([4, 'TEMP_DIR_UNSAFE'])
  }
  const watch = await world.stint(['temp', 'watch'])
  expect([watch.code, watch.stdout]).toEqual([4, ''])
  expect(watch.stderr).toContain('TEMP_DIR_UNSAFE')
})

test('list shows the owner, kind, size, age and liveness of each entry, and what a sweep would do', async () => {
  await using world = new World()
  const run = await startRun(world, '--session', 'mine')
  const [live = ''] = world.leftovers().map((name) => join(world.runs, name))
  const killed = plant(world, dead, {
    command: 'make',
    session_id: 'theirs',
    created_at: Date.now() - 3_600_000,
  })
  const ownerless = plant(world, undefined)
  const forged = plant(world, { ...dead, pid: -1 }, { session_id: 'theirs', command: 'sh' })
  const kept = output(world, Date.now() + 600_000)
  const expired = output(world, Date.now() - 60_000)
  const trashed = join(world.root, 'trash', newRequestId())
  mkdirSync(trashed, { recursive: true })
  const entries = await list(world)
  expect(entries).toHaveLength(7)
  expect(find(entries, live)).toMatchObject({
    kind: 'scratch',
    request_id: basename(live),
    session_id: 'mine',
    command: 'sh',
    pid: run.pid,
    liveness: 'alive',
    orphan: false,
    reason: 'owner-alive',
  })
  expect(find(entries, killed)).toMatchObject({
    files: 2,
    directories: 2,
    session_id: 'theirs',
    command: 'make',
    pid: deadPid,
    liveness: 'dead',
    orphan: true,
    reason: 'owner-dead',
  })
  expect(find(entries, killed)?.age_ms).toBeGreaterThanOrEqual(3_600_000)
  const nobody = {
    pid: null,
    liveness: null,
    command: null,
    session_id: null,
    orphan: false,
    reason: 'ownerless',
  }
  expect(find(entries, ownerless)).toMatchObject(nobody)
  expect(find(entries, forged)).toMatchObject(nobody)
  expect(find(entries, kept)).toMatchObject({
    kind: 'output',
    bytes: 3,
    files: 1,
    orphan: false,
    reason: 'not-expired',
  })
  expect(find(entries, expired)).toMatchObject({ kind: 'output', orphan: true, reason: 'expired' })
  expect(find(entries, trashed)).toMatchObject({ kind: 'trash', files: 0, orphan: true, reason: 'trash' })
})

test('list marks exactly the entries as orphans that a sweep removes', async () => {
  await using world = new World()
  for (let i = 0; i < 12; i++) plant(world, dead, { keep: 'always', created_at: 1000 + i })
  plant(world, dead)
  plant(world, undefined)
  plant(world, { ...dead, host: 'another' })
  output(world, Date.now() - 60_000)
  const entries = await list(world)
  const { removed, kept } = dataOf(await world.stint(['sweep', '--json'])) as Record<
    'removed' | 'kept',
    { path: string; reason: string }[]
  >
  const told = (orphan: boolean) =>
    entries.filter((entry) => entry.orphan === orphan).map(({ path, reason }) => `${path} ${reason}`)
  expect(told(true).sort()).toEqual(removed.map(({ path, reason }) => `${path} ${reason}`).sort())
  expect(told(false).sort()).toEqual(kept.map(({ path, reason }) => `${path} ${reason}`).sort())
})

test('foreign, linked and unreadable entries are listed as such, and not followed', async () => {
  await using world = new World()
  const real = plant(world, dead)
  writeFileSync(join(world.tmp, 'big'), 'x'.repeat(10_000))
  mkdirSync(join(world.tmp, 'outside'))
  writeFileSync(join(world.tmp, 'outside/big'), 'x'.repeat(10_000))
  symlinkSync(join(world.tmp, 'outside'), join(world.root, newRequestId()))
  symlinkSync(join(world.tmp, 'outside'), join(world.root, 'out'))
  writeFileSync(join(world.root, 'notes'), '')
  execFileSync('mkfifo', [join(real, 'fifo')])
  if (isRoot) {
    const foreign = plant(world, dead)
    chownSync(foreign, 65534, 65534)
    expect(find(await list(world), foreign)).toMatchObject({
      kind: 'other',
      reason: 'foreign-owner',
      pid: null,
    })
  }
  mkdirSync(join(real, 'closed'), { mode: 0o000 })
  const entries = await list(world)
  expect(find(entries, join(world.root, 'out'))).toMatchObject({ kind: 'other', reason: 'symlink', files: 1 })
  expect(find(entries, join(world.root, 'notes'))).toMatchObject({ kind: 'other', reason: 'not-stint' })
  expect(find(entries, real)).toMatchObject({ files: 3, directories: 3, orphan: true })
  expect(entries.every(({ bytes }) => bytes < 1000)).toBe(true)
  chmodSync(join(real, 'closed'), 0o700)
})

test('--sort orders by size, age or name', async () => {
  await using world = new World()
  const ages = [3000, 1000, 2000]
  const paths = ages.map((created_at) => plant(world, dead, { created_at }))
  const [a = '', b = '', c = ''] = paths
  writeFileSync(join(b, 'big'), 'x'.repeat(5000))
  writeFileSync(join(c, 'larger'), 'x'.repeat(9000))
  const order = async (...flags: string[]) => (await list(world, ...flags)).map(({ path }) => path)
  expect(await order()).toEqual([c, b, a])
  expect(await order('--sort', 'size')).toEqual([c, b, a])
  expect(await order('--sort', 'age')).toEqual([b, c, a])
  expect(await order('--sort', 'name')).toEqual([...paths].sort())
  expect((await temp(world, 'list', '--sort', 'colour')).code).toBe(2)
})

test('check exits with 0 if all entries are alive or kept on purpose, with 3 for orphans', async () => {
  await using world = new World()
  const run = await startRun(world, '--no-guard')
  plant(world, dead, { keep: 'on-failure' })
  output(world, Date.now() + 600_000)
  expect(dataOf(await temp(world, 'check'))).toMatchObject({ orphans: [], checked: 3 })
  const orphan = plant(world, dead)
  const found = await temp(world, 'check', '--wait', '0')
  expect(found.code).toBe(3)
  expect(found.envelope()).toMatchObject({
    error: {
      code: 'ORPHANS_FOUND',
      detail: expect.stringMatching(/^orphans=1 bytes=\d+ disk_bytes=\d+ files=2$/),
    },
    data: { orphans: [{ path: orphan, reason: 'owner-dead' }] },
  })
  await world.stint(['sweep'])
  expect((await temp(world, 'check', '--wait', '0')).code).toBe(0)
  const [child = 0] = readFileSync(
    join(world.runs, basename(orphanOf(world, run)), '.stint/children.pids'),
    'utf8',
  )
    .split(' ')
    .map(Number)
  run.child.kill('SIGKILL')
  process.kill(child, 'SIGKILL')
  await until('both are dead', () => !isRunning(run.pid) && !isRunning(child))
  expect((await temp(world, 'check', '--wait', '0')).code).toBe(3)
})

test('check warns of a dead run whose children cannot be known: one of them may still use its scratch', async () => {
  await using world = new World()
  const scratch = plant(world, dead)
  rmSync(join(scratch, '.stint/children.pids'))
  mkdirSync(join(scratch, '.stint/children.pids'))
  const checked = await temp(world, 'check', '--wait', '0')
  expect(checked.code).toBe(0)
  expect(checked.envelope().warnings).toEqual([
    `1 entry cannot be judged: it is unknown whether a process still uses ${scratch}`,
  ])
})

/** The scratch of a run that still exists. */
function orphanOf(world: World, run: Running): string {
  const isIts = (name: string): boolean => readOwner(join(world.runs, name))?.identity.pid === run.pid
  return world.leftovers().find(isIts) ?? ''
}

test('check waits for a cleanup that is under way', async () => {
  await using world = new World()
  const path = plant(world, dead)
  const checking = world.startStint(['temp', 'check', '--wait', '60s', '--json'])
  await until('it has begun', () => isRunning(checking.pid))
  await world.stint(['sweep'])
  expect((await checking.finished).code).toBe(0)
  expect(world.leftovers()).not.toContain(basename(path))
  await world.stint(['run', '--', 'sh', '-c', 'cd "$TMPDIR" && touch $(seq 500)'])
  expect((await temp(world, 'check', '--wait', '60s')).code).toBe(0)
})

test('every command shows what the disk lost to many small files, as du does, and their length beside it', async () => {
  await using world = new World()
  const path = plant(world, dead)
  for (let i = 0; i < 200; i++) writeFileSync(join(path, String(i)), 'x')
  const lost = du(path)
  const length = Number(find(await list(world), path)?.bytes)
  expect(length).toBeLessThan(1000)
  const answer = async (...args: string[]) => dataOf(await world.stint([...args, '--json']))
  const size = { bytes: length, disk_bytes: lost }
  expect(await answer('temp', 'list')).toMatchObject({ entries: [size], total: size })
  expect(await answer('temp', 'stats')).toMatchObject({ now: size, largest: [size] })
  expect(await answer('temp', 'check', '--wait', '0')).toMatchObject({ orphans: [size], ...size })
  expect(await answer('temp', 'why', join(path, '7'))).toMatchObject({ entry: size })
  expect(await answer('status')).toMatchObject({ orphans: { count: 1, ...size } })
  const text = `${Math.round(lost / 1024)} KiB for ${length} B of data`
  const asText = { env: { STINT_OUTPUT: 'text' } }
  expect((await world.stint(['temp', 'list'], asText)).stdout).toContain(`${text} in 202 files`)
  expect((await world.stint(['temp', 'check', '--wait', '0'], asText)).stderr).toContain(`1 entry, ${text}`)
  const freed = { removed: [size], bytes_freed: length, disk_bytes_freed: lost }
  expect(await answer('sweep', '--dry-run')).toMatchObject(freed)
  expect(await answer('sweep')).toMatchObject(freed)
})

test('stats shows totals, kinds, the largest entries, and what sweeps have found', async () => {
  await using world = new World()
  for (const size of [5000, 10]) writeFileSync(join(plant(world, dead), 'file'), 'x'.repeat(size))
  const { disk_bytes_freed } = dataOf(await world.stint(['sweep', '--json']))
  plant(world, dead)
  expect(dataOf(await temp(world, 'stats'))).toMatchObject({
    now: { entries: 1, scratches: 1, live: 0, orphans: 1, files: 2 },
    by_kind: { scratch: 1 },
    largest: [{ kind: 'scratch' }],
    history: {
      sweeps: 1,
      removed: 2,
      disk_freed: disk_bytes_freed,
      change: { orphans: -1 },
    },
  })
})

test('a terminal shows tables and sentences', async () => {
  await using world = new World()
  await using terminal = await Terminal.open(world)
  terminal.resize(160, 40)
  const path = plant(world, dead, { command: 'make', session_id: 'mine' })
  terminal.enter('clear; stint temp list')
  await terminal.shows(
    /^KIND +SIZE +FILES +AGE +OWNER +SESSION +SWEEP +NAME\nscratch +[\d.]+ KiB +2 .* make \(pid \d+, dead\) +mine +removes \(owner-dead\)/m,
  )
  await terminal.shows(/^1 in .*: [\d.]+ KiB in 2 files; 0 live, 1 orphan$/m)
  terminal.enter('clear; stint temp check --wait 0')
  await terminal.shows(/^stint temp check: dead runs have left 1 entry.*\(ORPHANS_FOUND\)/m)
  await terminal.shows(/^\[3\] ready>$/m)
  terminal.enter(`clear; stint temp why ${basename(world.root)}/run/${basename(path)}/work`)
  await terminal.shows(/^ {2}by +make \(pid \d+, dead\)/m)
  await terminal.shows(/^ {2}what next +the next sweep removes it: its run is dead$/m)
  terminal.enter('clear; stint temp stats')
  await terminal.shows(/^no history yet: `stint sweep` writes it$/m)
  terminal.enter('clear; stint sweep --quiet; stint temp stats')
  await terminal.shows(/^1 sweep in \d+s: removed 1, freed [\d.]+ KiB$/m)
  await terminal.shows(/^since the first:/m)
  expect(terminal.screen()).toMatch(/^since the first: disk -[\d.]+ KiB, entries -1, orphans -1$/m)
})
