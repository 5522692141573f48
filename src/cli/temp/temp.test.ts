import { execFileSync } from 'node:child_process'
import {
  chmodSync,
  chownSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { basename, join } from 'node:path'
import { expect, test } from 'vitest'
import { deadPid, plant } from '../../../test/support/plant.ts'
import { Terminal } from '../../../test/support/terminal.ts'
import {
  type Finished,
  isRoot,
  isRunning,
  type Running,
  stintBin,
  until,
  World,
} from '../../../test/support/world.ts'
import { newRequestId } from '../../primitives/id.ts'
import { ownIdentity } from '../../primitives/liveness.ts'
import { openRoot } from '../../scratch/root.ts'
import { createScratch } from '../../scratch/scratch.ts'

interface Entry {
  path: string
  kind: string
  bytes: number
  files: number
  directories: number
  age_ms: number
  request_id: string | null
  session_id: string | null
  command: string | null
  pid: number | null
  liveness: string | null
  orphan: boolean
  reason: string
}

const dataOf = (result: Finished) => result.envelope().data as Record<string, unknown>
const temp = (world: World, ...args: string[]): Promise<Finished> => world.stint(['temp', ...args, '--json'])

async function list(world: World, ...flags: string[]): Promise<Entry[]> {
  return dataOf(await temp(world, 'list', ...flags)).entries as Entry[]
}

const find = (entries: Entry[], path: string): Entry | undefined =>
  entries.find((entry) => entry.path === path)
const dead = { ...ownIdentity(), pid: deadPid }

/** A run of the command line that is up and stays so until it is ended, and does not sweep at its start. */
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
  const path = join(world.root, 'out', `${Math.round(expiresAt / 1000)}-${newRequestId()}`)
  mkdirSync(path, { recursive: true, mode: 0o700 })
  writeFileSync(join(path, 'report'), '123')
  utimesSync(path, expiresAt / 1000, expiresAt / 1000)
  return path
}

test('no root at all: nothing to list, nothing to check, no history; and nothing is made', async () => {
  await using world = new World()
  const zero = { entries: 0, scratches: 0, live: 0, orphans: 0, files: 0, directories: 0, bytes: 0 }
  expect(dataOf(await temp(world, 'list'))).toEqual({ root: null, entries: [], total: zero })
  expect(dataOf(await temp(world, 'stats'))).toMatchObject({ now: zero, largest: [], history: null })
  expect(await temp(world, 'check')).toMatchObject({ code: 0 })
  const why = await temp(world, 'why', 'x')
  expect([why.code, why.envelope().error?.code]).toEqual([5, 'NOT_FOUND'])
  expect(readdirSync(world.tmp)).toEqual([])
})

test('an empty root is fine; a symlinked one is TEMP_DIR_UNSAFE for each command', async () => {
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

test('list tells who, what, how big, how old, alive or not, and what a sweep would do', async () => {
  await using world = new World()
  const run = await startRun(world, '--session', 'mine')
  const [live = ''] = world.leftovers().map((name) => join(world.root, name))
  const killed = plant(world, dead, {
    command: 'make',
    session_id: 'theirs',
    created_at: Date.now() - 3_600_000,
  })
  const ownerless = plant(world, undefined)
  const forged = plant(world, { pid: -1 }, { session_id: '../..', command: 7 })
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

test('what list calls an orphan is what a sweep takes, and nothing else', async () => {
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

test('foreign, linked and unreadable things are shown for what they are, and not followed', async () => {
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

test('--sort: by size, by age, by name', async () => {
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

test('check: 0 while everything belongs to the living or is kept on purpose, 3 with orphans, 0 after a sweep', async () => {
  await using world = new World()
  const run = await startRun(world, '--no-guard')
  plant(world, dead, { keep: 'on-failure' })
  output(world, Date.now() + 600_000)
  expect(dataOf(await temp(world, 'check'))).toMatchObject({ orphans: [], checked: 3 })
  const orphan = plant(world, dead)
  const found = await temp(world, 'check', '--wait', '0')
  expect(found.code).toBe(3)
  expect(found.envelope()).toMatchObject({
    error: { code: 'ORPHANS_FOUND', detail: expect.stringMatching(/^orphans=1 bytes=\d+ files=2$/) },
    data: { orphans: [{ path: orphan, reason: 'owner-dead' }] },
  })
  await world.stint(['sweep'])
  expect((await temp(world, 'check', '--wait', '0')).code).toBe(0)
  const [child = 0] = readFileSync(
    join(world.root, basename(orphanOf(world, run)), '.stint/children.pids'),
    'utf8',
  )
    .split(' ')
    .map(Number)
  run.child.kill('SIGKILL')
  process.kill(child, 'SIGKILL')
  await until('both are dead', () => !isRunning(run.pid) && !isRunning(child))
  expect((await temp(world, 'check', '--wait', '0')).code).toBe(3)
})

/** The scratch of a run that is still there. */
function orphanOf(world: World, run: Running): string {
  const isIts = (name: string): boolean =>
    readFileSync(join(world.root, name, '.stint/owner.json'), 'utf8').includes(`"pid":${run.pid},`)
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

test('budgets of the whole warn in the envelope or on stderr, near the limit and above it, and change no exit code', async () => {
  await using world = new World()
  writeFileSync(join(plant(world, dead, { keep: 'always' }), 'big'), 'x'.repeat(9000))
  const [{ bytes = 0, files = 0 } = {}] = await list(world)
  for (const command of ['list', 'stats', 'check']) {
    const warnings = async (...flags: string[]) => {
      const result = await temp(world, command, ...flags)
      expect(result.code).toBe(0)
      return result.envelope().warnings
    }
    expect(await warnings('--max-bytes', '1MB', '--max-files', '100')).toEqual([])
    expect(await warnings('--max-bytes', String(bytes))).toEqual([
      expect.stringMatching(/^BUDGET: over 80 %.* of /),
    ])
    expect(await warnings('--max-bytes', '1k')).toEqual([
      expect.stringMatching(/^BUDGET: more .* of 1\.0 KiB$/),
    ])
    expect(await warnings('--max-files', String(files - 1))).toEqual([
      expect.stringContaining(`${files} of 2 files`),
    ])
  }
  const watch = await world.stint([
    'temp',
    'watch',
    '--interval',
    '50ms',
    '--max-runtime',
    '200ms',
    '--max-files',
    '1',
  ])
  expect(watch.code).toBe(0)
  expect(watch.stderr).toBe(
    `stint temp watch: warning: BUDGET: more than there may be: ${files} of 1 files\n`,
  )
})

test('stats: now, the largest, and the history that sweeps and watchers have written', async () => {
  await using world = new World()
  const first = plant(world, dead)
  writeFileSync(join(first, 'big'), 'x'.repeat(5000))
  await world.stint(['temp', 'watch', '--max-runtime', '0'])
  plant(world, dead, { created_at: Date.now() })
  const { bytes_freed } = dataOf(await world.stint(['sweep', '--json']))
  plant(world, dead)
  const data = dataOf(await temp(world, 'stats', '--since', '1d'))
  expect(data).toMatchObject({
    now: { entries: 1, scratches: 1, live: 0, orphans: 1, files: 2 },
    by_kind: { scratch: 1 },
    largest: [{ kind: 'scratch' }],
    history: { samples: 2, created: 1, removed: 2, freed: bytes_freed, freed_per_day: bytes_freed },
    series: { scratches: [1, 0], orphans: [1, 2], bytes: [expect.any(Number), bytes_freed] },
  })
  expect(dataOf(await temp(world, 'stats', '--since', '0'))).toMatchObject({ history: null })
  expect(dataOf(await temp(world, 'stats', '--since', '99999999d'))).toMatchObject({
    history: { samples: 2 },
  })
  expect((await temp(world, 'stats', '--since', 'yesterday')).code).toBe(2)
})

test('watch: a line a sample, growth since the last, the same as CSV; ends by itself with 0, by Ctrl-C with 130', async () => {
  await using world = new World()
  const csv = join(world.tmp, 'temp.csv')
  const path = plant(world, dead)
  const watch = world.startStint(['temp', 'watch', '--interval', '50ms', '--json', '--csv', csv])
  const samples = () =>
    watch
      .output()
      .stdout.split('\n')
      .slice(0, -1)
      .map((line) => JSON.parse(line) as { files: number; growth: number })
  await until('there is a sample', () => samples().length > 0)
  expect(samples()[0]).toMatchObject({
    files: 2,
    directories: 2,
    scratches: 1,
    live: 0,
    orphans: 1,
    growth: 0,
  })
  writeFileSync(join(path, 'more'), 'x'.repeat(1234))
  await until('it has seen the growth', () => samples().at(-1)?.files === 3)
  expect(samples().reduce((sum, { growth }) => sum + growth, 0)).toBe(1234)
  watch.child.kill('SIGINT')
  expect(await watch.finished).toMatchObject({ code: 130, stderr: '' })
  const [header, ...rows] = readFileSync(csv, 'utf8').trimEnd().split('\n')
  expect(header).toMatch(/^Timestamp,Files,Directories,Total Size \(bytes\),/)
  expect(rows.length).toBeGreaterThanOrEqual(samples().length - 1)
  for (const row of rows) expect(row).toMatch(/^\d{4}-\d\d-\d\dT[\d:.]+Z,[23],2,\d+,1,0,1,\d+$/)
  expect(statSync(csv).mode & 0o777).toBe(0o600)
  expect(readdirSync(join(world.tmp, 'home/stats')).some((name) => name.endsWith('.ndjson'))).toBe(true)

  const again = await world.stint(['temp', 'watch', '--max-runtime', '0', '--csv', csv])
  expect(again).toMatchObject({ code: 0, stderr: '' })
  expect(again.stdout).toMatch(
    /^\S+Z {2}3 files {2}2 directories {2}\d.*1 scratch {2}0 live {2}1 orphan {2}\+0 B\n$/,
  )
  const grown = readFileSync(csv, 'utf8').trimEnd().split('\n')
  expect(grown).toHaveLength(rows.length + 2)
  expect(grown.filter((line) => line === header)).toHaveLength(1)
})

test('watch ends when its reader is gone', async () => {
  await using world = new World()
  const pipeline = '"$0" "$1" temp watch --interval 50ms | head -n 1'
  const { stdout, stderr } = await world.start('sh', ['-c', pipeline, process.execPath, stintBin]).finished
  expect([stdout.split('\n').length, stderr]).toEqual([2, ''])
})

test('watch --csv: a file with another header, a directory, or nowhere to put it: a coded error, nothing changed', async () => {
  await using world = new World()
  const other = join(world.tmp, 'other.csv')
  writeFileSync(other, 'Name,Colour\n')
  const refused = async (csv: string) => {
    const { code, stdout, stderr } = await world.stint(['temp', 'watch', '--max-runtime', '0', '--csv', csv])
    return [code, stdout, /\(([A-Z_]+)\)/.exec(stderr)?.[1]]
  }
  expect(await refused(other)).toEqual([6, '', 'NAME_TAKEN'])
  expect(readFileSync(other, 'utf8')).toBe('Name,Colour\n')
  expect(await refused(world.tmp)).toEqual([6, '', 'NAME_TAKEN'])
  execFileSync('mkfifo', [join(world.tmp, 'fifo')])
  expect(await refused(join(world.tmp, 'fifo'))).toEqual([6, '', 'NAME_TAKEN'])
  expect(await refused('/dev/full')).toEqual([6, '', 'NAME_TAKEN'])
  expect(await refused(join(world.tmp, 'no/such.csv'))).toEqual([5, '', 'NOT_FOUND'])
  expect((await world.stint(['temp', 'watch', '--interval', '1ms'])).code).toBe(2)
})

test('watch --csv on a full disk leaves no file without a header behind', async () => {
  await using world = new World()
  const disk = join(world.tmp, 'disk')
  const watch = `"$0" "$1" temp watch --max-runtime 0 --csv ${disk}/temp.csv`
  const script = `mkdir ${disk} && mount -t tmpfs -o size=16k tmpfs ${disk} && cat /dev/zero > ${disk}/x 2>/dev/null
    ${watch}; ls ${disk}`
  const full = await world.unshare(['--mount'], 'sh', ['-c', script, process.execPath, stintBin])
  expect(full.stderr).toContain('(DISK_FULL)')
  expect(full.stdout).toBe('x\n')
})

interface Why {
  path: string
  exists: boolean
  entry: Entry
  parents: { request_id: string; command: string | null; liveness: string | null }[]
  contexts: { name: string }[]
  context: string | null
  test_file: string | null
  tracked: { path: string } | null
  fate: string
}

async function why(world: World, path: string): Promise<Why> {
  return dataOf(await temp(world, 'why', path)) as unknown as Why
}

test('why: the run, its session, the runs it was started in, the contexts and the test', async () => {
  await using world = new World()
  const root = openRoot({ STINT_TMP_ROOT: world.tmp })
  using outer = createScratch({ root, command: 'outer' })
  using scratch = createScratch({
    root,
    command: 'inner',
    sessionId: 'mine',
    parentRequestId: outer.requestId,
  })
  const describing = scratch.context('describe', { file: 'src/a.test.ts' })
  const file = describing.context('it').file('deep/file', '12345')
  const found = await why(world, file)
  expect(found).toMatchObject({
    path: file,
    exists: true,
    entry: {
      kind: 'scratch',
      path: scratch.path,
      request_id: scratch.requestId,
      session_id: 'mine',
      command: 'inner',
      pid: process.pid,
      liveness: 'alive',
      reason: 'owner-alive',
    },
    parents: [{ request_id: outer.requestId, command: 'outer', liveness: 'alive' }],
    contexts: [{ name: 'describe' }, { name: 'describe > it' }],
    context: 'describe > it',
    test_file: 'src/a.test.ts',
    tracked: null,
    fate: 'it goes when its run ends',
  })
  expect(await why(world, `${file}/gone`)).toMatchObject({ exists: false, context: 'describe > it' })
  expect(await why(world, scratch.file('plain'))).toMatchObject({ contexts: [], context: null })
  symlinkSync(world.tmp, join(world.tmp, 'link'))
  expect((await why(world, file.replace(world.tmp, join(world.tmp, 'link')))).path).toBe(file)
  const relative = await world.stint(['temp', 'why', 'file', '--json'], { cwd: join(file, '..') })
  expect(dataOf(relative)).toMatchObject({ path: file })
})

test('why: an output, the trash, a path elsewhere that a run tracks, and what lies in it', async () => {
  await using world = new World()
  const root = openRoot({ STINT_TMP_ROOT: world.tmp })
  using scratch = createScratch({ root, command: 'tool' })
  const report = scratch.output('report.txt')
  expect(await why(world, report)).toMatchObject({
    entry: { kind: 'output', request_id: scratch.requestId, command: 'tool', reason: 'owner-alive' },
  })
  const elsewhere = join(world.tmp, 'elsewhere')
  mkdirSync(elsewhere)
  writeFileSync(join(elsewhere, 'file'), '12345')
  scratch.context('test one').track(elsewhere)
  const tracked = await why(world, join(elsewhere, 'file'))
  expect(tracked).toMatchObject({
    entry: { kind: 'tracked', request_id: scratch.requestId, command: 'tool', bytes: 5, files: 1 },
    tracked: { path: elsewhere, context: 'test one', sweepable: true },
    context: 'test one',
  })
  const early = scratch.track(join(world.tmp, 'not-yet'))
  expect((await why(world, early)).fate).toMatch(/^only its own run removes it/)
  const trashed = plant(world, dead)
  renameSync(trashed, join(root.trash, basename(trashed)))
  expect(await why(world, join(root.trash, basename(trashed), 'work'))).toMatchObject({
    entry: { kind: 'trash', request_id: basename(trashed), pid: deadPid, liveness: 'dead' },
  })
})

test('why: what is nothing of ours is NOT_FOUND, and says what was looked for; not exactly one path is exit 2', async () => {
  await using world = new World()
  plant(world, dead)
  for (const path of ['/etc/passwd', world.tmp, world.root, join(world.root, 'req_x'), '/']) {
    const result = await temp(world, 'why', path)
    expect([result.code, result.envelope().error?.code]).toEqual([5, 'NOT_FOUND'])
    expect(result.envelope().error?.message).toContain(path)
  }
  for (const args of [[], [''], ['a', 'b']]) expect((await temp(world, 'why', ...args)).code).toBe(2)
})

test('forged records: contexts that lead out, parents in a circle, tracked roots, escapes in every text', async () => {
  await using world = new World()
  const escape = '\u001b]0;owned\u0007\u202e'
  const path = plant(world, dead, { command: `make${escape}`, session_id: `s${escape}` })
  const other = plant(world, dead, { parent_request_id: basename(path) })
  const owner = JSON.parse(readFileSync(join(path, '.stint/owner.json'), 'utf8')) as object
  const circle = { ...owner, parent_request_id: basename(other) }
  writeFileSync(join(path, '.stint/owner.json'), JSON.stringify(circle))
  const lines = [
    { dir: '../..', name: 'out', file: null },
    { dir: 'd', name: `test${escape}`, file: `a${escape}.ts` },
    { dir: 'd', name: 7 },
    'text',
    null,
  ]
  const log = `${lines.map((line) => JSON.stringify(line)).join('\n')}\n{"dir":"d","name":"torn`
  writeFileSync(join(path, '.stint/contexts.log'), log)
  mkdirSync(join(path, 'd'))
  writeFileSync(join(path, 'd', `file${escape}`), '')
  mkdirSync(join(world.root, 'tracked'), { mode: 0o700 })
  const { dev, ino, birthtimeMs: born } = statSync('/')
  const tracked = { path: '/', file: { dev, ino, born }, context: escape }
  writeFileSync(join(world.root, 'tracked', basename(path)), `${JSON.stringify(tracked)}\nnonsense\n`)

  const found = await why(world, join(path, 'd', `file${escape}`))
  expect(found).toMatchObject({ contexts: [{ dir: 'd' }], entry: { session_id: null } })
  expect(found.parents.map(({ request_id }) => request_id)).toEqual([basename(other), basename(path)])
  const record = find(await list(world), join(world.root, 'tracked', basename(path)))
  expect(record).toMatchObject({ kind: 'tracked', files: 0, orphan: true, reason: 'owner-dead' })
  for (const args of [['list'], ['why', join(path, 'd', `file${escape}`)], ['stats']]) {
    const quoted = args.map((arg) => `'${arg}'`).join(' ')
    const typed = await world.start(
      'script',
      ['-qec', `${process.execPath} ${stintBin} temp ${quoted}`, '/dev/null'],
      {
        env: { SHELL: '/bin/sh' },
      },
    ).finished
    expect(typed.stdout).not.toContain('\u001b')
    expect(typed.stdout).not.toContain('\u202e')
  }
})

test('on a terminal: tables, sentences and sparklines', async () => {
  await using world = new World()
  await using terminal = await Terminal.open(world)
  terminal.resize(160, 40)
  const path = plant(world, dead, { command: 'make', session_id: 'mine' })
  terminal.enter('clear; stint temp list')
  await terminal.shows(
    /^KIND +SIZE +FILES +AGE +OWNER +SESSION +SWEEP +NAME\nscratch +\d+ B +2 .* make \(pid \d+, dead\) +mine +takes \(owner-dead\)/m,
  )
  await terminal.shows(/^1 in .*: \d+ B in 2 files; 0 live, 1 orphan$/m)
  terminal.enter('clear; stint temp check --wait 0')
  await terminal.shows(/^stint temp check: dead runs have left 1 entry.*\(ORPHANS_FOUND\)/m)
  await terminal.shows(/^\[3\] ready>$/m)
  terminal.enter(`clear; stint temp why ${basename(world.root)}/${basename(path)}/work`)
  await terminal.shows(/^ {2}by +make \(pid \d+, dead\)/m)
  await terminal.shows(/^ {2}what next +the next sweep takes it: its run is dead$/m)
  terminal.enter('clear; stint temp watch --max-runtime 0; stint temp stats')
  await terminal.shows(/^history: 1 sample over 0s$/m)
  await terminal.shows(/^ {2}orphans +\S+ +at most 1$/m)
  terminal.enter('clear; stint temp watch')
  await terminal.shows(/Z {2}2 files /)
  terminal.press('C-c')
  await terminal.shows(/\[130\] ready>$/m)
  expect(terminal.screen()).not.toContain('CANCELLED')
})
