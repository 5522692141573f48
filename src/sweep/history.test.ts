import {
  appendFileSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { deadPid, plant } from '../../test/support/plant.ts'
import { dataOf, temp } from '../../test/support/temp-commands.ts'
import { projectRoot, stintBin, until, World } from '../../test/support/world.ts'
import { ownIdentity } from '../base/process/liveness.ts'
import type { HistorySummary, SweepRecord } from './history.ts'

const dead = { ...ownIdentity(), pid: deadPid }

const historyOf = (world: World): string => join(world.tmp, 'home/sweeps.jsonl')

const recordsIn = (world: World): SweepRecord[] =>
  readFileSync(historyOf(world), 'utf8')
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as SweepRecord)

const summaryIn = async (world: World) => dataOf(await temp(world, 'stats')).history as HistorySummary | null

test('each sweep of the temp directory adds a line with what it found and freed; a dry run adds none', async () => {
  await using world = new World()
  plant(world, dead)
  plant(world, ownIdentity())
  await world.stint(['sweep', '--dry-run', '--json'])
  expect(await summaryIn(world)).toBeNull()
  const { bytes_freed, disk_bytes_freed } = dataOf(await world.stint(['sweep', '--json']))
  const [{ bytes, disk_bytes, ...counts } = { bytes: 0, disk_bytes: 0 }] = recordsIn(world)
  expect(counts).toMatchObject({ entries: 2, orphans: 1, removed: 1, disk_freed: disk_bytes_freed })
  expect(bytes).toBeGreaterThan(bytes_freed as number)
  expect(disk_bytes).toBeGreaterThanOrEqual(disk_bytes_freed as number)
  expect(statSync(historyOf(world)).mode & 0o777).toBe(0o600)
  await world.stint(['sweep', '--scope', 'sessions'])
  expect(recordsIn(world)).toHaveLength(1)
  await world.stint(['sweep'])
  expect(recordsIn(world)).toHaveLength(2)
})

test('the summary has the sums and the change since the first sweep; damaged lines are skipped', async () => {
  await using world = new World()
  await world.stint(['sweep'])
  const [record] = recordsIn(world)
  const line = (change: Partial<SweepRecord>): string => `${JSON.stringify({ ...record, ...change })}\n`
  writeFileSync(
    historyOf(world),
    line({ at: 1000, entries: 4, removed: 3, disk_freed: 10 }) +
      `garbage\n{"at":1}\n\0\0\n${line({ entries: -1 })}` +
      line({ at: 2000, entries: 9, removed: 5, disk_freed: 20 }) +
      line({ at: 3000, entries: 2, removed: 2, disk_freed: 0 }),
  )
  appendFileSync(historyOf(world), '{"at":')
  plant(world, ownIdentity())
  expect(await summaryIn(world)).toMatchObject({
    sweeps: 3,
    since: 1000,
    removed: 10,
    disk_freed: 30,
    change: { entries: -3, orphans: 0 },
  })
})

test('the history keeps the newest 64 to 128 KiB', async () => {
  await using world = new World()
  await world.stint(['sweep'])
  const line = `${JSON.stringify(recordsIn(world)[0])}\n`
  const full = Math.ceil((64 << 10) / line.length)
  writeFileSync(historyOf(world), line.repeat(full))
  await world.stint(['sweep'])
  expect(recordsIn(world)).toHaveLength(1)
  expect(await summaryIn(world)).toMatchObject({ sweeps: full + 1 })
})

test('sweeps that end at the same moment write whole lines', async () => {
  await using world = new World()
  const go = join(world.tmp, 'go')
  const script = 'echo ready; until [ -e "$2" ]; do :; done; for i in 1 2 3; do "$0" "$1" sweep --quiet; done'
  const sweeps = Array.from({ length: 4 }, () =>
    world.start('sh', ['-c', script, process.execPath, stintBin, go], { cwd: projectRoot }),
  )
  for (const { output } of sweeps) await until('it is ready', () => output().stdout === 'ready\n')
  writeFileSync(go, '')
  for (const { finished } of sweeps) expect(await finished).toMatchObject({ code: 0, stderr: '' })
  expect(recordsIn(world)).toHaveLength(12)
  expect(await summaryIn(world)).toMatchObject({ sweeps: 12 })
})

test('a home that is full, read-only, a file or a link never fails a sweep', async () => {
  await using world = new World()
  plant(world, dead)
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
  mkdirSync(join(world.tmp, 'linked'))
  writeFileSync(join(world.tmp, 'elsewhere'), '')
  symlinkSync(join(world.tmp, 'elsewhere'), join(world.tmp, 'linked/sweeps.jsonl'))
  for (const home of ['file', 'linked', 'no/such']) {
    const result = await world.stint(['sweep', '--json'], { env: { STINT_HOME: join(world.tmp, home) } })
    expect([result.code, result.envelope().warnings]).toEqual([0, []])
  }
  expect(readFileSync(join(world.tmp, 'elsewhere'), 'utf8')).toBe('')
  expect(readdirSync(join(world.tmp, 'linked'))).toContain('format-1')
})
