import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { basename, join } from 'node:path'
import { expect, test } from 'vitest'
import { deadPid, plant } from '../../test/support/plant.ts'
import { sweep } from '../../test/support/sweep-data.ts'
import { openToAll, stintBin, unprivileged, World } from '../../test/support/world.ts'
import { measureTree } from '../base/fs/measure-tree.ts'
import { newRequestId, ulid } from '../base/text/id.ts'
import { ownIdentity } from '../base/process/liveness.ts'
import { openRoot } from '../scratch/root.ts'
import { sweep as sweepNow } from './sweep.ts'

test('the tracked paths of a dead run are removed, unless another file or a mount is there now', async () => {
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
  // A path that could not be removed stays on record: without the mount, the next sweep removes it.
  expect((await world.stint(['temp', 'check', '--json', '--wait', '0s'])).code).toBe(3)
  expect(await sweep(world)).toMatchObject({
    removed: [{ path: mounted, type: 'directory', reason: 'tracked' }],
    failures: [],
  })
  expect(left()).toEqual([false, true, false])
  expect(world.leftovers()).toEqual([])
})

test.each(['', '{"path":"/torn'])(
  'a record of tracked paths that a kill left as %j is removed with its scratch',
  async (text) => {
    await using world = new World()
    const path = plant(world, { ...ownIdentity(), pid: deadPid })
    mkdirSync(join(world.root, 'tracked'), { mode: 0o700 })
    writeFileSync(join(world.root, 'tracked', basename(path)), text)
    expect((await sweep(world)).removed).toMatchObject([{ path }])
    expect(world.leftovers()).toEqual([])
  },
)

/** Plants a dead run that tracked these names of a directory. */
async function deadTracker(world: World, directory: string, ...names: string[]): Promise<void> {
  const program = `
    import { createScratch } from ${JSON.stringify(join(import.meta.dirname, '../../dist/index.js'))}
    const scratch = createScratch()
    const [directory, ...names] = process.argv.slice(1)
    for (const name of names) scratch.track(directory + '/' + name)
    process.kill(process.pid, 'SIGKILL')`
  await world.start(process.execPath, ['--input-type=module', '-e', program, directory, ...names]).finished
}

test('a dry run and a sweep report the tracked paths they remove', async () => {
  await using world = new World()
  const tracked = join(world.tmp, 'elsewhere')
  mkdirSync(tracked)
  writeFileSync(join(tracked, 'x'), '12345')
  await deadTracker(world, world.tmp, 'elsewhere')
  const { disk_bytes } = measureTree(tracked)
  const named = { path: tracked, type: 'directory', bytes: 5, disk_bytes, reason: 'tracked' }
  expect((await sweep(world, '--dry-run')).removed).toContainEqual(named)
  expect(existsSync(tracked)).toBe(true)
  expect((await sweep(world)).removed).toContainEqual(named)
  expect(existsSync(tracked)).toBe(false)
})

test('a sweep whose current directory is tracked leaves it to another sweep', async () => {
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

test('a tracked path that cannot be examined is a failure, and stays on record', async () => {
  await using world = new World({}, openToAll)
  const root = join(world.tmp, `stint-${unprivileged.uid ?? process.geteuid?.()}`)
  chmodSync(world.tmp, 0o777)
  const start = (args: string[]) =>
    world.start(process.execPath, args, { cwd: '/', ...unprivileged }).finished
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
  expect([lstatSync(closed).mode & 0o777, readdirSync(root)]).toEqual([0o311, ['run', 'trash']])
})

test('a run whose tracked path cannot be examined does not stop the sweep of other runs', async () => {
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

test('a record whose scratch is gone is swept by itself if its run is dead', async () => {
  await using world = new World()
  const tracked = join(world.tmp, 'elsewhere')
  writeFileSync(tracked, '')
  await deadTracker(world, world.tmp, 'elsewhere')
  const scratch = world.leftovers().find((name) => name.startsWith('req_')) ?? ''
  rmSync(join(world.runs, scratch), { recursive: true })
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

test('a record without an owner, or never finished, is removed when it is a day old', async () => {
  await using world = new World()
  plant(world, ownIdentity())
  const tracked = join(world.root, 'tracked')
  mkdirSync(tracked, { mode: 0o700 })
  for (const name of [newRequestId(), `.4711-${ulid()}.tmp`]) writeFileSync(join(tracked, name), '{"torn')
  const root = openRoot({ STINT_TMP_ROOT: world.tmp })
  const later = (hours: number) => ({ now: () => Date.now() + hours * 3_600_000, mono: () => 0 })
  const reasons = (await sweepNow({ root, clock: later(23) })).kept.map(({ reason }) => reason)
  expect(reasons).toEqual(['owner-alive', 'ownerless', 'ownerless'])
  expect((await sweepNow({ root, dryRun: true, clock: later(25) })).failures).toEqual([])
  expect(readdirSync(tracked)).toHaveLength(2)
  expect((await sweepNow({ root, clock: later(25) })).failures).toEqual([])
  expect(existsSync(tracked)).toBe(false)
})

test('a record of more than a mebibyte is read to its end', async () => {
  await using world = new World()
  // Long paths make the record large with few files.
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

test('a program cannot make a sweep delete other files by writing to its scratch', async () => {
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
