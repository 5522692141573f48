import {
  chmodSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { sample } from '../../../test/support/sample.ts'
import { projectRoot, stintBin, until, World } from '../../../test/support/world.ts'
import { plant } from '../../../test/support/plant.ts'
import { ownIdentity } from '../../base/process/liveness.ts'
import { appendSample, lastSample, readSamples } from './history.ts'
import { parseSample, type Sample } from './sample.ts'

const homeOf = (world: World): string => join(world.tmp, 'home')
const samplesIn = (world: World): Sample[] => readSamples(homeOf(world), 0, Date.now())

test('8 processes that append 50 samples each at once write 400 whole lines', async () => {
  await using world = new World()
  const program = join(projectRoot, 'test/fixtures/sampler.mjs')
  const go = join(world.tmp, 'go')
  const writers = Array.from({ length: 8 }, (_, writer) =>
    world.start(process.execPath, [program, homeOf(world), String(writer), '50', go]),
  )
  for (const { output } of writers) await until('it is ready', () => output().stdout === 'ready\n')
  writeFileSync(go, '')
  for (const { finished } of writers) expect(await finished).toMatchObject({ code: 0, stderr: '' })
  const [name = '', ...others] = readdirSync(join(homeOf(world), 'stats'))
  expect(others).toEqual([])
  const lines = readFileSync(join(homeOf(world), 'stats', name), 'utf8')
    .trimEnd()
    .split('\n')
  expect(lines).toHaveLength(400)
  const seen = lines.map((line) => parseSample(line)).map((each) => `${each?.files} ${each?.scratches}`)
  expect(new Set(seen).size).toBe(400)
})

test('files are 0600 and directories 0700 whatever the umask; invalid and torn lines are skipped', async () => {
  await using world = new World()
  const before = process.umask(0)
  try {
    appendSample(homeOf(world), sample(Date.now()))
  } finally {
    process.umask(before)
  }
  const stats = join(homeOf(world), 'stats')
  const [name = ''] = readdirSync(stats)
  const modes = [homeOf(world), stats, join(stats, name)].map((path) => statSync(path).mode & 0o777)
  expect(modes).toEqual([0o700, 0o700, 0o600])
  writeFileSync(join(stats, name), 'garbage\n{"schema_version":1}\n\0\0\n{"at":', { flag: 'a' })
  expect(samplesIn(world)).toHaveLength(1)
  expect(lastSample(homeOf(world))).toEqual(samplesIn(world)[0])
})

test('13 months are kept, including the current one; other files stay', async () => {
  await using world = new World()
  for (let month = 0; month < 20; month++) appendSample(homeOf(world), sample(Date.UTC(2024, month, 1)))
  writeFileSync(join(homeOf(world), 'stats/notes.txt'), '')
  const names = readdirSync(join(homeOf(world), 'stats'))
  expect(names).toHaveLength(14)
  expect(names).toContain('2024-08.ndjson')
  expect(names).not.toContain('2024-07.ndjson')
  expect(readSamples(homeOf(world), Date.UTC(2025, 6, 1), Date.now())).toHaveLength(2)
})

test('a sweep adds a sample; one that removed nothing at most once a minute, a dry run never', async () => {
  await using world = new World()
  plant(world, { ...ownIdentity(), started: 1 })
  await world.stint(['sweep', '--dry-run', '--json'])
  expect(samplesIn(world)).toEqual([])
  const { bytes_freed } = (await world.stint(['sweep', '--json'])).envelope().data as { bytes_freed: number }
  const left = { by: 'sweep', scratches: 0, orphans: 0, bytes: 0 }
  expect(samplesIn(world)).toMatchObject([
    { ...left, swept: 1, freed: bytes_freed, orphans_found: 1, bytes_found: bytes_freed },
  ])
  await world.stint(['sweep', '--json'])
  expect(samplesIn(world)).toHaveLength(1)
})

test('three sweeps within a minute that each remove something are all in the history', async () => {
  await using world = new World()
  const freed: number[] = []
  for (let i = 0; i < 3; i++) {
    writeFileSync(join(plant(world, { ...ownIdentity(), started: 1 }), 'more'), 'x'.repeat(i))
    const { data } = (await world.stint(['sweep', '--json'])).envelope()
    freed.push((data as { bytes_freed: number }).bytes_freed)
  }
  expect(samplesIn(world).map((each) => each.freed)).toEqual(freed)
})

test('removed sessions count as freed bytes, not as orphans of the root', async () => {
  await using world = new World()
  const session = join(homeOf(world), 'trash/mine')
  mkdirSync(session, { recursive: true, mode: 0o700 })
  writeFileSync(join(session, 'manifest.json'), '{}')
  chmodSync(homeOf(world), 0o700)
  await world.stint(['sweep', '--scope', 'sessions', '--json'])
  expect(samplesIn(world)).toMatchObject([{ swept: 0, freed: 2, orphans_found: 0, bytes_found: 0 }])
})

test('a line of an older version, without the counts before the sweep, is still read', () => {
  const now = { ...sample(7), orphans: 2, bytes: 5, freed: 4 }
  const { disk_bytes: _, disk_freed: __, disk_bytes_found: ___, ...withoutBlocks } = now
  expect(parseSample(JSON.stringify({ ...withoutBlocks, bytes_found: 9 }))).toEqual({
    ...now,
    bytes_found: 9,
    disk_bytes: 5,
    disk_freed: 4,
    disk_bytes_found: 9,
  })
  const { orphans_found: ____, bytes_found: _____, ...old } = withoutBlocks
  expect(parseSample(JSON.stringify(old))).toMatchObject({ orphans_found: 2, bytes_found: 5, disk_bytes: 5 })
})

test('a home that is full, read-only, a file or a link never fails a sweep', async () => {
  await using world = new World()
  plant(world, { ...ownIdentity(), started: 1 })
  const sweep = '"$0" "$1" sweep --json >"$2" 2>&1; echo "exit $?"'
  const inMount = async (mount: string, before: string) => {
    const script = `mkdir -p "$STINT_HOME"; mount -t tmpfs ${mount} tmpfs "$STINT_HOME"; ${before}; ${sweep}`
    const out = join(world.tmp, 'out')
    const { stdout } = await world.unshare(['--mount'], 'sh', ['-c', script, process.execPath, stintBin, out])
    return [stdout, (JSON.parse(readFileSync(out, 'utf8')) as { ok: boolean; warnings: string[] }).ok]
  }
  expect(await inMount('-o ro', ':')).toEqual(['exit 0\n', true])
  const fill = 'cat /dev/zero > "$STINT_HOME/x" 2>/dev/null'
  expect(await inMount('-o size=16k,mode=0700', fill)).toEqual(['exit 0\n', true])
  writeFileSync(join(world.tmp, 'file'), '')
  mkdirSync(join(world.tmp, 'real'))
  mkdirSync(join(world.tmp, 'linked'))
  symlinkSync(join(world.tmp, 'real'), join(world.tmp, 'linked/stats'))
  for (const home of ['file', 'linked', 'no/such']) {
    const result = await world.stint(['sweep', '--json'], { env: { STINT_HOME: join(world.tmp, home) } })
    expect([result.code, result.envelope().warnings]).toEqual([0, []])
  }
  expect(readdirSync(join(world.tmp, 'real'))).toEqual([])
})
