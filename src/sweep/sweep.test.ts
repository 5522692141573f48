import {
  chmodSync,
  chownSync,
  existsSync,
  lstatSync,
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
import { buildHalfDead } from '../../test/support/build-c.ts'
import { deadPid, plant } from '../../test/support/plant.ts'
import { treeHash } from '../../test/support/tree-hash.ts'
import { isRoot, isRunning, stintBin, until, World } from '../../test/support/world.ts'
import { identify, ownIdentity } from '../primitives/liveness.ts'
import { newRequestId, ulid } from '../primitives/id.ts'
import { openRoot } from '../scratch/root.ts'
import { stagingName } from '../scratch/staging.ts'
import { sweepSync } from './sweep.ts'

interface SweepData {
  removed: { path: string; type: string; bytes: number; reason: string }[]
  kept: { path: string; reason: string }[]
  failures: { path: string; error: string }[]
  bytes_freed: number
}

async function sweep(world: World, ...flags: string[]): Promise<SweepData> {
  return (await world.stint(['sweep', '--json', ...flags])).envelope().data as SweepData
}

const dayOld = (path: string): void => utimesSync(path, 0, 0)

test('a run that is alive is never swept; when it is dead, one sweep leaves nothing', async () => {
  await using world = new World()
  const running = world.startStint([
    'run',
    '--no-guard',
    '--',
    'sh',
    '-c',
    'echo work > "$TMPDIR/work"; echo up; sleep 300',
  ])
  await until('it is up', () => running.output().stdout.includes('up'))
  const [name = ''] = world.leftovers()
  expect(await sweep(world)).toMatchObject({ removed: [], kept: [{ reason: 'owner-alive' }], bytes_freed: 0 })
  expect(readFileSync(join(world.root, name, 'work'), 'utf8')).toBe('work\n')
  const pids = readFileSync(join(world.root, name, '.stint/children.pids'), 'utf8')
  running.child.kill('SIGKILL')
  process.kill(Number.parseInt(pids, 10), 'SIGKILL')
  await until('both are dead', () => !isRunning(running.pid) && !isRunning(Number.parseInt(pids, 10)))
  const { removed, bytes_freed } = await sweep(world)
  expect(removed).toMatchObject([{ path: join(world.root, name), reason: 'owner-dead' }])
  expect(bytes_freed).toBeGreaterThan(5)
  expect(world.leftovers()).toEqual([])
})

test('a live run is not swept from another pid namespace', async () => {
  await using world = new World()
  const running = world.startStint(['run', '--', 'sh', '-c', 'echo up; exec sleep 300'])
  await until('it is up', () => running.output().stdout.includes('up'))
  const sweeper = [stintBin, 'sweep', '--json']
  const swept = await world.unshare(['--pid', '--fork', '--mount-proc'], process.execPath, sweeper)
  expect(swept.envelope()).toMatchObject({ data: { removed: [], kept: [{ reason: 'owner-unknown' }] } })
  expect(world.leftovers()).toHaveLength(1)
  running.child.kill('SIGTERM')
  expect((await running.finished).code).toBe(143)
})

test('an owner whose main thread is a zombie while another thread runs is alive; unreaped and reaped are dead', async () => {
  await using world = new World()
  const program = buildHalfDead(world.tmp)
  const owner = world.start(program, [])
  await until('only the other thread runs', () => {
    const stat = readFileSync(`/proc/${owner.pid}/stat`, 'utf8')
    return owner.output().stdout === 'up\n' && stat.includes(') Z ')
  })
  const path = plant(world, identify(owner.pid))
  expect(await sweep(world)).toMatchObject({ removed: [], kept: [{ reason: 'owner-alive' }] })
  owner.child.kill('SIGKILL')
  await owner.finished
  expect(await sweep(world)).toMatchObject({ removed: [{ path, reason: 'owner-dead' }] })

  // A parent that never waits: the killed child stays a zombie.
  const parent = world.start('sh', ['-c', 'sleep 300 & echo $!; exec sleep 301'])
  await until('the child has a pid', () => parent.output().stdout.endsWith('\n'))
  const childPid = Number(parent.output().stdout)
  await until('nobody is left who would wait', () =>
    readFileSync(`/proc/${parent.pid}/comm`, 'utf8').startsWith('sleep'),
  )
  const unreaped = plant(world, identify(childPid))
  process.kill(childPid, 'SIGKILL')
  await until('it is a zombie', () => readFileSync(`/proc/${childPid}/stat`, 'utf8').includes(') Z '))
  expect(await sweep(world)).toMatchObject({ removed: [{ path: unreaped, reason: 'owner-dead' }] })
})

test('a reused pid, another boot and a missing pid are dead; another host or namespace is not provable', async () => {
  await using world = new World()
  const me = ownIdentity()
  const dead = [
    plant(world, { ...me, started: 1 }),
    plant(world, { ...me, boot: '00000000-0000-0000-0000-000000000000' }),
    plant(world, { ...me, pid: deadPid }),
  ]
  const unknown = [
    plant(world, { ...me, host: 'f'.repeat(32) }),
    plant(world, { ...me, pidns: '1' }),
    plant(world, { ...me, timens: '1' }),
  ]
  const alive = plant(world, me)
  const { removed, kept } = await sweep(world)
  expect(removed.map(({ path }) => path).sort()).toEqual(dead.sort())
  expect(
    kept
      .filter(({ reason }) => reason === 'owner-unknown')
      .map(({ path }) => path)
      .sort(),
  ).toEqual(unknown.sort())
  expect(kept).toContainEqual({ path: alive, reason: 'owner-alive' })
})

test('a young scratch without an owner that makes sense stays', async () => {
  await using world = new World()
  const forged = [{ pid: -1 }, { pid: 0 }, { pid: 'x' }, { pid: 1e12 }, { boot: 7 }].map((bad) => ({
    ...ownIdentity(),
    ...bad,
  }))
  const young = [undefined, {}, ...forged].map((identity) => plant(world, identity))
  writeFileSync(join(young[0] ?? '', '.stint/owner.json'), '{"torn')
  const { removed, kept } = await sweep(world)
  expect(removed).toEqual([])
  expect(kept.map(({ reason }) => reason)).toEqual(young.map(() => 'ownerless'))
})

test('an owner record that is a FIFO or a link neither hangs nor fools the sweep', async () => {
  await using world = new World()
  const path = plant(world, undefined)
  await world.start('mkfifo', [join(path, '.stint/owner.json')]).finished
  const linked = plant(world, undefined)
  symlinkSync('/etc/passwd', join(linked, '.stint/owner.json'))
  expect((await sweep(world)).kept.map(({ reason }) => reason)).toEqual(['ownerless', 'ownerless'])
})

test('what a crash between making and naming a scratch leaves is swept by the name of its maker', async () => {
  await using world = new World()
  const me = ownIdentity()
  const dead = join(world.root, stagingName(newRequestId(), { ...me, pid: deadPid }))
  const alive = join(world.root, stagingName(newRequestId(), me))
  const elsewhere = join(
    world.root,
    stagingName(newRequestId(), { ...me, pid: deadPid, boot: '11111111-2222' }),
  )
  for (const path of [dead, alive, elsewhere]) mkdirSync(join(path, '.stint'), { recursive: true })
  chmodSync(world.root, 0o700)
  const { removed, kept } = await sweep(world)
  expect(removed).toMatchObject([{ path: dead, reason: 'owner-dead' }])
  expect(kept).toContainEqual({ path: alive, reason: 'owner-alive' })
  expect(kept).toContainEqual({ path: elsewhere, reason: 'owner-unknown' })
})

test('foreign, symlinked and unknown entries are never touched, and named with the reason', async () => {
  await using world = new World()
  const outside = join(world.tmp, 'outside')
  mkdirSync(outside)
  writeFileSync(join(outside, 'file'), '')
  plant(world, undefined)
  rmSync(join(world.root, readdirSync(world.root)[0] ?? ''), { recursive: true })
  const link = join(world.root, newRequestId())
  symlinkSync(outside, link)
  const file = join(world.root, 'notes.txt')
  writeFileSync(file, '')
  const unknown = join(world.root, 'mine')
  mkdirSync(unknown)
  dayOld(unknown)
  const expected = [
    { path: link, reason: 'symlink' },
    { path: file, reason: 'not-stint' },
    { path: unknown, reason: 'not-stint' },
  ]
  if (isRoot) {
    const foreign = plant(world, { ...ownIdentity(), pid: deadPid })
    chownSync(foreign, 65534, 65534)
    expected.push({ path: foreign, reason: 'foreign-owner' })
  }
  const { removed, kept } = await sweep(world)
  expect(removed).toEqual([])
  expect(kept).toHaveLength(expected.length)
  for (const entry of expected) expect(kept).toContainEqual(entry)
  expect(existsSync(join(outside, 'file'))).toBe(true)
})

test('a name that is no UTF-8 is named in kept, and goes from the trash', async () => {
  await using world = new World()
  plant(world, ownIdentity())
  for (const place of ['', 'trash/', 'out/']) {
    mkdirSync(join(world.root, place), { recursive: true })
    mkdirSync(Buffer.from(`${world.root}/${place}bad\xff\xfe`, 'latin1'))
  }
  const { kept, removed } = await sweep(world)
  expect(kept.filter(({ path }) => path.includes('bad')).map(({ reason }) => reason)).toEqual([
    'not-stint',
    'not-stint',
  ])
  expect(removed).toMatchObject([{ reason: 'trash' }])
})

test('--dry-run says what would go and changes nothing', async () => {
  await using world = new World()
  const dead = plant(world, { ...ownIdentity(), pid: deadPid })
  mkdirSync(join(world.root, 'trash', 'req_old'), { recursive: true })
  writeFileSync(join(world.root, 'trash', 'req_old', 'x'), 'xyz')
  const before = treeHash(world.tmp)
  const { removed } = await sweep(world, '--dry-run')
  expect(removed).toMatchObject([
    { bytes: 3, reason: 'trash' },
    { path: dead, reason: 'owner-dead' },
  ])
  expect(treeHash(world.tmp)).toBe(before)
  expect((await sweep(world)).removed).toEqual(removed)
  expect(world.leftovers()).toEqual([])
})

test('outputs stay until they expire', async () => {
  await using world = new World()
  const out = join(world.root, 'out')
  mkdirSync(out, { recursive: true })
  chmodSync(world.root, 0o700)
  const now = Math.floor(Date.now() / 1000)
  const expired = `${now - 10}-req_${ulid()}`
  const fresh = `${now + 100}-req_${ulid()}`
  for (const name of [expired, fresh, 'stranger']) mkdirSync(join(out, name))
  const { removed, kept } = await sweep(world)
  expect(removed.map(({ path, reason }) => [basename(path), reason])).toEqual([[expired, 'expired']])
  expect(kept.map(({ path, reason }) => [basename(path), reason]).sort()).toEqual(
    [
      [fresh, 'not-expired'],
      ['stranger', 'not-stint'],
    ].sort(),
  )
})

test('tracked paths elsewhere go with a dead run, unless something else is there now, or a mount is in the way', async () => {
  await using world = new World()
  const program = `
    import { createScratch } from ${JSON.stringify(join(import.meta.dirname, '../../dist/index.js'))}
    import { mkdirSync, writeFileSync } from 'node:fs'
    const scratch = createScratch()
    for (const path of process.argv.slice(1)) { mkdirSync(path); writeFileSync(path + '/x', 'x'); scratch.track(path) }
    process.kill(process.pid, 'SIGKILL')`
  const [gone = '', replaced = '', mounted = ''] = ['gone', 'replaced', 'mounted'].map((name) =>
    join(world.tmp, name),
  )
  await world.start(process.execPath, ['--input-type=module', '-e', program, gone, replaced, mounted])
    .finished
  rmSync(replaced, { recursive: true })
  mkdirSync(replaced)
  mkdirSync(join(mounted, 'm'))
  expect(world.leftovers()).toHaveLength(2)
  const script = 'mount --bind "$0" "$1/m"; exec "$2" "$3" sweep --json'
  const swept = await world.unshare(['--mount'], 'sh', [
    '-c',
    script,
    replaced,
    mounted,
    process.execPath,
    stintBin,
  ])
  expect(swept.envelope().data).toMatchObject({
    failures: [{ path: join(mounted, 'm'), error: 'MOUNT_POINT' }],
  })
  const left = () => [gone, replaced, join(mounted, 'x')].map((path) => existsSync(path))
  expect(left()).toEqual([false, true, true])
  // What could not be removed is not forgotten: where there is no mount, the next sweep takes it.
  expect((await world.stint(['temp', 'check', '--json', '--wait', '0s'])).code).toBe(3)
  expect(await sweep(world)).toMatchObject({
    removed: [{ path: mounted, type: 'directory', reason: 'tracked' }],
    failures: [],
  })
  expect(left()).toEqual([false, true, false])
  expect(world.leftovers()).toEqual([])
})

test.each(['', '{"path":"/torn'])(
  'a record of tracked paths that a kill has left as %j goes with its scratch',
  async (text) => {
    await using world = new World()
    const path = plant(world, { ...ownIdentity(), pid: deadPid })
    mkdirSync(join(world.root, 'tracked'), { mode: 0o700 })
    writeFileSync(join(world.root, 'tracked', basename(path)), text)
    expect((await sweep(world)).removed).toMatchObject([{ path }])
    expect(world.leftovers()).toEqual([])
  },
)

/** A dead run that tracked these, by their names in a directory. */
async function deadTracker(world: World, directory: string, ...names: string[]): Promise<void> {
  const program = `
    import { createScratch } from ${JSON.stringify(join(import.meta.dirname, '../../dist/index.js'))}
    const scratch = createScratch()
    const [directory, ...names] = process.argv.slice(1)
    for (const name of names) scratch.track(directory + '/' + name)
    process.kill(process.pid, 'SIGKILL')`
  await world.start(process.execPath, ['--input-type=module', '-e', program, directory, ...names]).finished
}

test('a dry run names what would go elsewhere; a sweep does, too', async () => {
  await using world = new World()
  const tracked = join(world.tmp, 'elsewhere')
  mkdirSync(tracked)
  writeFileSync(join(tracked, 'x'), '12345')
  await deadTracker(world, world.tmp, 'elsewhere')
  const named = { path: tracked, type: 'directory', bytes: 5, reason: 'tracked' }
  expect((await sweep(world, '--dry-run')).removed).toContainEqual(named)
  expect(existsSync(tracked)).toBe(true)
  expect((await sweep(world)).removed).toContainEqual(named)
  expect(existsSync(tracked)).toBe(false)
})

test('a sweep that works in a tracked directory leaves it to another one', async () => {
  await using world = new World()
  const tracked = join(world.tmp, 'elsewhere')
  mkdirSync(join(tracked, 'inside'), { recursive: true })
  await deadTracker(world, world.tmp, 'elsewhere')
  const within = await world.stint(['sweep', '--json'], { cwd: join(tracked, 'inside') })
  expect(within.envelope().data).toMatchObject({ removed: [{ reason: 'owner-dead' }], failures: [] })
  expect(existsSync(tracked)).toBe(true)
  expect((await sweep(world)).removed).toMatchObject([{ path: tracked, reason: 'tracked' }])
  expect([existsSync(tracked), ...world.leftovers()]).toEqual([false])
})

test('a tracked path that may not be looked at is a failure, and stays on record until it may', async () => {
  await using world = new World()
  const other = isRoot ? { uid: 65534, gid: 65534 } : {}
  const root = join(world.tmp, `stint-${other.uid ?? process.geteuid?.()}`)
  chmodSync(world.tmp, 0o777)
  const start = (args: string[]) => world.start(process.execPath, args, { cwd: '/', ...other }).finished
  const closed = join(world.tmp, 'closed')
  const program = `
    import { createScratch } from ${JSON.stringify(join(import.meta.dirname, '../../dist/index.js'))}
    import { mkdirSync, writeFileSync } from 'node:fs'
    const [closed] = process.argv.slice(1)
    mkdirSync(closed)
    writeFileSync(closed + '/x', '')
    createScratch().track(closed + '/x')
    process.kill(process.pid, 'SIGKILL')`
  await start(['--input-type=module', '-e', program, closed])
  chmodSync(closed, 0)
  const refused = (await start([stintBin, 'sweep', '--json'])).envelope()
  expect(refused.data).toMatchObject({ failures: [{ path: join(closed, 'x'), error: 'EACCES' }] })
  expect(readdirSync(join(root, 'tracked'))).toHaveLength(1)
  chmodSync(closed, 0o311)
  const swept = (await start([stintBin, 'sweep', '--json'])).envelope()
  expect(swept.data).toMatchObject({ removed: [{ path: join(closed, 'x') }], failures: [] })
  expect([lstatSync(closed).mode & 0o777, readdirSync(root)]).toEqual([0o311, ['trash']])
})

test('one run whose tracked path cannot be looked at does not stop the sweep of the others', async () => {
  await using world = new World()
  const parent = join(world.tmp, 'parent')
  mkdirSync(parent)
  writeFileSync(join(parent, 'x'), '')
  await deadTracker(world, parent, 'x')
  rmSync(parent, { recursive: true })
  writeFileSync(parent, 'now a file')
  const others = [1, 2, 3].map(() => plant(world, { ...ownIdentity(), pid: deadPid }))
  const { removed, failures } = await sweep(world)
  expect(failures).toEqual([])
  expect(removed.map(({ path }) => path)).toEqual(expect.arrayContaining(others))
  expect(readFileSync(parent, 'utf8')).toBe('now a file')
  expect(world.leftovers()).toEqual([])
})

test('a record whose scratch is gone is swept by itself, when its run is dead', async () => {
  await using world = new World()
  const tracked = join(world.tmp, 'elsewhere')
  writeFileSync(tracked, '')
  await deadTracker(world, world.tmp, 'elsewhere')
  const scratch = world.leftovers().find((name) => name.startsWith('req_')) ?? ''
  rmSync(join(world.root, scratch), { recursive: true })
  const record = join(world.root, 'tracked', scratch)
  const text = readFileSync(record, 'utf8')
  writeFileSync(
    record,
    text.replace(/"pid":\d+,"started":\d+/, `"pid":${process.pid},"started":${ownIdentity().started}`),
  )
  expect((await sweep(world)).kept).toContainEqual({ path: record, reason: 'owner-alive' })
  expect(existsSync(tracked)).toBe(true)
  writeFileSync(record, text)
  expect((await sweep(world)).removed).toMatchObject([{ path: tracked, reason: 'tracked' }])
  expect(world.leftovers()).toEqual([])
})

test('a record that names no owner, or was never finished, goes when it is a day old', async () => {
  await using world = new World()
  plant(world, ownIdentity())
  const tracked = join(world.root, 'tracked')
  mkdirSync(tracked, { mode: 0o700 })
  for (const name of [newRequestId(), `.4711-${ulid()}.tmp`]) writeFileSync(join(tracked, name), '{"torn')
  const root = openRoot({ STINT_TMP_ROOT: world.tmp })
  const later = (hours: number) => ({ now: () => Date.now() + hours * 3_600_000, mono: () => 0 })
  const reasons = sweepSync({ root, clock: later(23) }).kept.map(({ reason }) => reason)
  expect(reasons).toEqual(['owner-alive', 'ownerless', 'ownerless'])
  expect(sweepSync({ root, dryRun: true, clock: later(25) }).failures).toEqual([])
  expect(readdirSync(tracked)).toHaveLength(2)
  expect(sweepSync({ root, clock: later(25) }).failures).toEqual([])
  expect(existsSync(tracked)).toBe(false)
})

test('a record of more than a mebibyte is read to its end', async () => {
  await using world = new World()
  // Long paths make a long record of few files.
  const deep = join(world.tmp, ...Array<string>(14).fill('x'.repeat(250)))
  mkdirSync(deep, { recursive: true })
  const paths = Array.from({ length: 310 }, (_, i) => join(deep, String(i)))
  for (const path of paths) writeFileSync(path, '')
  await deadTracker(world, deep, ...Array.from({ length: 310 }, (_, i) => String(i)))
  const [record = ''] = readdirSync(join(world.root, 'tracked'))
  expect(lstatSync(join(world.root, 'tracked', record)).size).toBeGreaterThan(1 << 20)
  expect((await sweep(world)).removed).toHaveLength(311)
  expect([readdirSync(deep), world.leftovers()]).toEqual([[], []])
})

test('what nobody can prove dead stays while anything in it is young', async () => {
  await using world = new World()
  const unproven = plant(world, { ...ownIdentity(), pidns: '1' })
  mkdirSync(join(unproven, 'deep/er'), { recursive: true })
  const fresh = join(unproven, 'deep/er/fresh')
  writeFileSync(fresh, '')
  const tomorrow = Date.now() + 25 * 3_600_000
  utimesSync(fresh, tomorrow / 1000, tomorrow / 1000)
  const root = openRoot({ STINT_TMP_ROOT: world.tmp })
  const later = { now: () => tomorrow, mono: () => 0 }
  expect(sweepSync({ root, clock: later })).toMatchObject({
    removed: [],
    kept: [{ reason: 'owner-unknown' }],
  })
  rmSync(fresh)
  expect(sweepSync({ root, clock: { ...later, now: () => tomorrow + 25 * 3_600_000 } }).removed).toHaveLength(
    1,
  )
})

test('a program cannot make a sweep delete something by writing to its scratch', async () => {
  await using world = new World()
  const precious = join(world.tmp, 'precious')
  mkdirSync(precious)
  const { dev, ino, birthtimeMs } = lstatSync(precious)
  const scratch = plant(world, { ...ownIdentity(), pid: deadPid })
  const line = JSON.stringify({ path: precious, file: { dev, ino, born: birthtimeMs } })
  writeFileSync(join(scratch, '.stint/tracked.log'), `${line}\n`)
  expect((await sweep(world)).removed).toMatchObject([{ path: scratch }])
  expect(existsSync(precious)).toBe(true)
})

test('what nobody can prove dead goes when nothing has touched it for a day', async () => {
  await using world = new World()
  const unproven = [plant(world, undefined), plant(world, { ...ownIdentity(), pidns: '1' })]
  const alive = plant(world, ownIdentity())
  const later = (hours: number) => ({ now: () => Date.now() + hours * 3_600_000, mono: () => 0 })
  const root = openRoot({ STINT_TMP_ROOT: world.tmp })
  expect(sweepSync({ root, clock: later(23) }).removed).toEqual([])
  const { removed } = sweepSync({ root, clock: later(25) })
  expect(removed.map(({ path }) => path).sort()).toEqual(unproven.sort())
  expect(world.leftovers()).toEqual([basename(alive)])
})

test('an owner record that may not be read protects the scratch, however old it is', async () => {
  await using world = new World()
  const path = plant(world, { ...ownIdentity(), pid: deadPid })
  chmodSync(join(path, '.stint/owner.json'), 0)
  const script = `
    import { sweepSync } from ${JSON.stringify(join(import.meta.dirname, '../../dist/index.js'))}
    const clock = { now: () => Date.now() + 48 * 3_600_000, mono: () => 0 }
    console.log(JSON.stringify(sweepSync({ clock }).kept))`
  // Root may read everything, so it gives the files to a user who may not.
  const other = isRoot ? { uid: 65534, gid: 65534 } : {}
  if (isRoot) {
    for (const name of ['', ...readdirSync(world.tmp, { recursive: true, encoding: 'utf8' })])
      chownSync(join(world.tmp, name), 65534, 65534)
    renameSync(world.root, join(world.tmp, 'stint-65534'))
  }
  const { stdout } = await world.start(process.execPath, ['--input-type=module', '-e', script], {
    cwd: '/',
    ...other,
  }).finished
  expect(JSON.parse(stdout)).toMatchObject([{ reason: 'unreadable' }])
})

test('a record of children that cannot be read protects the scratch: one of them may be alive', async () => {
  await using world = new World()
  const path = plant(world, { ...ownIdentity(), pid: deadPid })
  writeFileSync(join(path, '.stint/children.pids'), `1 1 ${'x'.repeat(1 << 20)}\n`)
  expect(await sweep(world)).toMatchObject({ removed: [], kept: [{ path, reason: 'owner-unknown' }] })
})

test('odd file names, and more files than a sweep at a start may delete at once, go all the same', async () => {
  await using world = new World()
  const path = plant(world, { ...ownIdentity(), pid: deadPid })
  for (let i = 0; i < 700; i++) writeFileSync(join(path, `file-${i}`), '')
  writeFileSync(Buffer.from(`${path}/a\xff\xfeb`, 'latin1'), '')
  mkdirSync(Buffer.from(`${path}/\xe9`, 'latin1'))
  writeFileSync(Buffer.from(`${path}/\xe9/\n`, 'latin1'), '')
  const atStart = async () => {
    if (existsSync(join(world.root, 'trash/.swept'))) dayOld(join(world.root, 'trash/.swept'))
    await world.stint(['run', '--', 'sleep', '0.05'])
  }
  const trash = join(world.root, 'trash', basename(path))
  // Each does a part: how large it is depends on how busy the machine is.
  for (let runs = 0; (existsSync(path) || existsSync(trash)) && runs < 50; runs++) await atStart()
  expect([existsSync(path), existsSync(trash)]).toEqual([false, false])
})

test('every invocation sweeps at its start, at most once a minute', async () => {
  await using world = new World()
  const stamp = join(world.root, 'trash/.swept')
  const invoke = () => world.stint(['run', '--', 'sleep', '0.05'])
  /** A minute later, again and again: a busy machine may use up the time a sweep at a start has. */
  const invokeUntilGone = async (path: string) => {
    for (let tries = 0; existsSync(path) && tries < 50; tries++) {
      if (existsSync(stamp)) dayOld(stamp)
      await invoke()
    }
  }
  const dead = plant(world, { ...ownIdentity(), pid: deadPid })
  await invokeUntilGone(dead)
  expect(existsSync(dead)).toBe(false)
  const next = plant(world, { ...ownIdentity(), pid: deadPid })
  await invoke()
  expect(existsSync(next)).toBe(true)
  await invokeUntilGone(next)
  expect(existsSync(next)).toBe(false)
})
