import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { basename, join } from 'node:path'
import { expect, test } from 'vitest'
import { buildHalfDead } from '../../test/support/build-c.ts'
import { deadPid, plant } from '../../test/support/plant.ts'
import { sweep } from '../../test/support/sweep-data.ts'
import { treeHash } from '../../test/support/tree-hash.ts'
import { isRoot, isRunning, stintBin, until, World } from '../../test/support/world.ts'
import { newRequestId, ulid } from '../base/text/id.ts'
import { identify, ownIdentity } from '../base/process/liveness.ts'
import { openRoot } from '../scratch/root.ts'
import { sweep as sweepNow } from './sweep.ts'

const inHours = (hours: number) => ({ now: () => Date.now() + hours * 3_600_000, mono: () => 0 })

const dayOld = (path: string): void => utimesSync(path, 0, 0)

test('a living run is never swept; after its death, one sweep removes everything', async () => {
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
  expect(readFileSync(join(world.runs, name, 'work'), 'utf8')).toBe('work\n')
  const pids = readFileSync(join(world.runs, name, '.stint/children.pids'), 'utf8')
  running.child.kill('SIGKILL')
  process.kill(Number.parseInt(pids, 10), 'SIGKILL')
  await until('both are dead', () => !isRunning(running.pid) && !isRunning(Number.parseInt(pids, 10)))
  const { removed, bytes_freed } = await sweep(world)
  expect(removed).toMatchObject([{ path: join(world.runs, name), reason: 'owner-dead' }])
  expect(bytes_freed).toBeGreaterThan(5)
  expect(world.leftovers()).toEqual([])
})

test('a sweep whose time is over before it begins still removes an entry of each directory, so a full root gets empty', async () => {
  await using world = new World()
  const alive = plant(world, ownIdentity())
  for (let i = 0; i < 30; i++) plant(world, { ...ownIdentity(), pid: deadPid })
  const root = openRoot(world.env)
  for (let left = 30; left > 0; left--) {
    // What a run that has just ended leaves to its guard does not count.
    for (let i = 0; i < 2; i++) mkdirSync(join(root.trash, newRequestId()))
    const { removed } = await sweepNow({ root, budgetMs: -1 })
    expect(removed.map(({ reason }) => reason)).toEqual(['trash', 'owner-dead'])
  }
  expect(world.leftovers()).toEqual([basename(alive)])
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

test('an owner is alive while any of its threads runs; killed, it is dead before and after it is reaped', async () => {
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

  // This parent never waits, so the killed child stays a zombie.
  const parent = world.start('sh', ['-c', 'sleep 300 & echo $!; exec sleep 301'])
  await until('the child has a pid', () => parent.output().stdout.endsWith('\n'))
  const childPid = Number(parent.output().stdout)
  await until('the shell has become a sleep, which never waits for children', () =>
    readFileSync(`/proc/${parent.pid}/comm`, 'utf8').startsWith('sleep'),
  )
  const unreaped = plant(world, identify(childPid))
  process.kill(childPid, 'SIGKILL')
  await until('it is a zombie', () => readFileSync(`/proc/${childPid}/stat`, 'utf8').includes(') Z '))
  expect(await sweep(world)).toMatchObject({ removed: [{ path: unreaped, reason: 'owner-dead' }] })
})

test('a reused pid, another boot and a missing pid prove death; another host or namespace proves nothing', async () => {
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

test('a young scratch without a valid owner record stays', async () => {
  await using world = new World()
  const forged = [{ pid: -1 }, { pid: 0 }, { pid: 1e12 }].map((bad) => ({ ...ownIdentity(), ...bad }))
  const young = [undefined, ...forged].map((identity) => plant(world, identity))
  const { removed, kept } = await sweep(world)
  expect(removed).toEqual([])
  expect(kept.map(({ reason }) => reason)).toEqual(young.map(() => 'ownerless'))
})

test('an owner record that is a FIFO or a file protects the scratch, however old it is', async () => {
  await using world = new World()
  const paths = [plant(world, undefined), plant(world, undefined)]
  await world.start('mkfifo', [`${paths[0]}.owner`]).finished
  writeFileSync(`${paths[1]}.owner`, '')
  const { removed, kept } = await sweepNow({ root: openRoot(world.env), clock: inHours(48) })
  const reasons = kept.filter(({ path }) => paths.includes(path)).map(({ reason }) => reason)
  expect([removed, reasons]).toEqual([[], ['unreadable', 'unreadable']])
})

test('a run that died between any two calls of making or removing its scratch is swept', async () => {
  await using world = new World()
  const gone = { ...ownIdentity(), pid: deadPid }
  const [made, lone, kept] = [plant(world, gone), plant(world, gone), plant(world, gone, { keep: 'always' })]
  const [living, livingLone] = [plant(world, ownIdentity()), plant(world, ownIdentity())]
  for (const path of [lone, kept, livingLone]) rmSync(path, { recursive: true })
  const { removed, kept: spared } = await sweep(world)
  expect(removed.map(({ path }) => path).sort()).toEqual([`${kept}.owner`, `${lone}.owner`, made].sort())
  expect(spared.map(({ path, reason }) => [path, reason]).sort()).toEqual([
    [living, 'owner-alive'],
    [`${livingLone}.owner`, 'owner-alive'],
  ])
  expect(readdirSync(world.runs).sort()).toEqual(
    [living, `${living}.owner`, `${livingLone}.owner`].map((path) => basename(path)).sort(),
  )
})

test('an owner record that a power cut has damaged protects its scratch for a day', async () => {
  await using world = new World()
  const damaged = ['4711:12', '::::::', 'x'].map((target) => {
    const path = plant(world, undefined)
    symlinkSync(target, `${path}.owner`)
    return path
  })
  const [lone = ''] = damaged
  rmSync(lone, { recursive: true })
  const root = openRoot(world.env)
  expect(await sweepNow({ root, clock: inHours(23) })).toMatchObject({
    removed: [],
    kept: damaged.map(() => ({ reason: 'ownerless' })),
  })
  expect((await sweepNow({ root, clock: inHours(25) })).removed).toHaveLength(3)
  expect(readdirSync(world.runs)).toEqual([])
})

test('foreign, symlinked and unknown entries are never touched, and reported with the reason', async () => {
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

test('an entry whose name is not UTF-8 stays, and does not stop the sweep', async () => {
  await using world = new World()
  const dead = plant(world, { ...ownIdentity(), pid: deadPid })
  for (const place of ['', 'trash/', 'out/']) {
    mkdirSync(join(world.root, place), { recursive: true })
    mkdirSync(Buffer.from(`${world.root}/${place}bad\xff\xfe`, 'latin1'))
  }
  const { removed } = await sweep(world)
  expect(removed.map(({ path }) => path)).toEqual([dead])
  for (const place of ['', 'trash', 'out'])
    expect(readdirSync(join(world.root, place), 'latin1')).toContain('bad\xff\xfe')
})

test('--dry-run reports what would be removed, and changes nothing', async () => {
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
  const expired = `req_${ulid()}-${now - 10}`
  const fresh = `req_${ulid()}-${now + 100}`
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

test('outputs of a run that may be alive outlast their time', async () => {
  await using world = new World()
  const root = openRoot(world.env)
  const unreadable = plant(world, undefined)
  writeFileSync(`${unreadable}.owner`, '')
  const elsewhere = plant(world, { ...ownIdentity(), pidns: '1' })
  const dead = plant(world, { ...ownIdentity(), pid: deadPid }, { keep: 'always' })
  const outputOf = (path: string): string => join(root.out, `${basename(path)}-1`)
  for (const path of [unreadable, elsewhere, dead]) {
    mkdirSync(outputOf(path), { recursive: true, mode: 0o700 })
    dayOld(outputOf(path))
  }
  const outputsAfter = async (hours: number): Promise<string[]> => {
    await sweepNow({ root, clock: inHours(hours) })
    return readdirSync(root.out).sort()
  }
  const names = [unreadable, elsewhere].map((path) => basename(outputOf(path))).sort()
  expect(await outputsAfter(1)).toEqual(names)
  expect(await outputsAfter(23)).toEqual(names)
  expect(await outputsAfter(25)).toEqual([basename(outputOf(unreadable))])
})

test('a scratch whose owner cannot be proven dead stays while anything in it is young', async () => {
  await using world = new World()
  const unproven = plant(world, { ...ownIdentity(), pidns: '1' })
  mkdirSync(join(unproven, 'deep/er'), { recursive: true })
  const fresh = join(unproven, 'deep/er/fresh')
  writeFileSync(fresh, '')
  const tomorrow = Date.now() + 25 * 3_600_000
  utimesSync(fresh, tomorrow / 1000, tomorrow / 1000)
  const root = openRoot({ STINT_TMP_ROOT: world.tmp })
  const later = { now: () => tomorrow, mono: () => 0 }
  expect(await sweepNow({ root, clock: later })).toMatchObject({
    removed: [],
    kept: [{ reason: 'owner-unknown' }],
  })
  rmSync(fresh)
  expect(
    (await sweepNow({ root, clock: { ...later, now: () => tomorrow + 25 * 3_600_000 } })).removed,
  ).toHaveLength(1)
})

test('a scratch whose owner cannot be proven dead is removed after a day without changes', async () => {
  await using world = new World()
  const unproven = [plant(world, undefined), plant(world, { ...ownIdentity(), pidns: '1' })]
  const alive = plant(world, ownIdentity())
  const later = (hours: number) => ({ now: () => Date.now() + hours * 3_600_000, mono: () => 0 })
  const root = openRoot({ STINT_TMP_ROOT: world.tmp })
  expect((await sweepNow({ root, clock: later(23) })).removed).toEqual([])
  const { removed } = await sweepNow({ root, clock: later(25) })
  expect(removed.map(({ path }) => path).sort()).toEqual(unproven.sort())
  expect(world.leftovers()).toEqual([basename(alive)])
})

test('an unreadable record of children protects the scratch: a child may be alive', async () => {
  await using world = new World()
  const path = plant(world, { ...ownIdentity(), pid: deadPid })
  writeFileSync(join(path, '.stint/children.pids'), `1 1 ${'x'.repeat(1 << 20)}\n`)
  expect(await sweep(world)).toMatchObject({ removed: [], kept: [{ path, reason: 'owner-unknown' }] })
})

test('repeated sweeps at a start remove odd file names, and more files than one of them may', async () => {
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
  // Each sweep removes a part; its size depends on the load of the machine.
  for (let runs = 0; (existsSync(path) || existsSync(trash)) && runs < 50; runs++) await atStart()
  expect([existsSync(path), existsSync(trash)]).toEqual([false, false])
})

test('every invocation sweeps at its start, at most once a minute', async () => {
  await using world = new World()
  const stamp = join(world.root, 'trash/.swept')
  const invoke = () => world.stint(['run', '--', 'true'])
  /** Repeats the sweep a minute later each time: on a busy machine its 25 ms may end too early. */
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
