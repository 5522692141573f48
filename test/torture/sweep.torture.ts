import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { ownIdentity } from '../../src/base/process/liveness.ts'
import { attackedSweeps } from '../support/attacked-sweeps.ts'
import { directoriesOf, grow } from '../support/grow.ts'
import { deadPid, plant } from '../support/plant.ts'
import { sweptRuns } from '../support/swept-runs.ts'
import { Terminal } from '../support/terminal.ts'
import { treeHash } from '../support/tree-hash.ts'
import { stintBin, until, World } from '../support/world.ts'

const dead = () => ({ ...ownIdentity(), pid: deadPid })

interface Measured {
  data: { removed: unknown[]; kept: unknown[]; failures: unknown[]; bytes_freed: number }
  stderr: string
  /** Peak resident memory, in MiB. */
  peak: number
  ms: number
}

/** Runs `stint sweep --json` with a preloaded module that writes the peak memory to a file at exit. */
async function measuredSweep(world: World): Promise<Measured> {
  const figures = join(world.tmp, 'figures')
  const hook = join(world.tmp, 'hook.cjs')
  writeFileSync(
    hook,
    `process.on('exit', () => require('node:fs').writeFileSync(${JSON.stringify(figures)}, String(process.resourceUsage().maxRSS)))`,
  )
  const { stderr, envelope } = await world.start(process.execPath, [
    '--require',
    hook,
    stintBin,
    'sweep',
    '--json',
  ]).finished
  const { data, meta } = envelope()
  return {
    data: data as Measured['data'],
    stderr,
    peak: Number(readFileSync(figures)) / 1024,
    ms: meta.duration_ms,
  }
}

const printFigures = (what: string, count: number, { ms, peak }: Measured): void =>
  console.log(
    `${what}: ${ms} ms, ${Math.round((count / ms) * 1000)}/s, ${((ms * 1000) / count).toFixed(1)} µs each, peak ${peak.toFixed(0)} MiB`,
  )

test.each([5000, 100_000])('one sweep removes %i files in one dead scratch', async (files) => {
  await using world = new World()
  const path = plant(world, dead())
  for (let i = 0; i < files; i++) writeFileSync(join(path, `file-${i}`), '1')
  const swept = await measuredSweep(world)
  printFigures(`${files} files`, files, swept)
  expect(swept).toMatchObject({ data: { removed: [{ path }], failures: [] }, stderr: '' })
  expect(world.leftovers()).toEqual([])
})

test('one sweep removes a tree 6 levels deep and 4 wide', async () => {
  await using world = new World()
  const directories = directoriesOf(6, 4)
  expect(directories).toBe(5461)
  expect(grow(join(plant(world, dead()), 'tree'), 6, 4)).toBe(2 * directories)
  const swept = await measuredSweep(world)
  printFigures(`${directories} directories with a file each`, 2 * directories, swept)
  expect(swept.data.failures).toEqual([])
  expect(world.leftovers()).toEqual([])
})

test('one sweep removes everything that 1,000 killed runs left, and no byte of 50 living runs', async () => {
  const report = await sweptRuns({ runs: 1000, ofCli: 100, live: 50, atOnce: 16 })
  console.log(
    `1000 killed runs: ${report.swept} swept, ${report.leftovers.length} left, ${report.live} live beside`,
  )
  expect(report).toMatchObject({ leftovers: [], untouched: true, live: 50 })
  expect(report.swept).toBeGreaterThan(500)
})

test('an attacker who swaps directories for links during a sweep never leads it out of its root', async () => {
  const { crashes, ...report } = await attackedSweeps({ rounds: 1000, swaps: 5000 })
  console.log(`attacked: ${JSON.stringify(report)}`)
  expect(crashes).toEqual([])
  expect(report).toMatchObject({ outsideIsSame: true, leftovers: [] })
})

test('sweeping 10,000 dead scratches among 1,000 live ones needs bounded memory, and leaves the live ones alone', async () => {
  const peaks: Record<number, number> = {}
  for (const count of [2000, 5000, 10_000]) {
    await using world = new World()
    const live = Array.from({ length: 1000 }, () => plant(world, ownIdentity()))
    for (let i = 0; i < count; i++) plant(world, dead())
    const before = treeHash(...live)
    const swept = await measuredSweep(world)
    printFigures(`${count} dead among 1000 live`, count, swept)
    peaks[count] = swept.peak
    expect([swept.data.removed.length, swept.data.kept.length, swept.data.failures]).toEqual([
      count,
      1000,
      [],
    ])
    expect(swept.stderr).toBe('')
    expect(treeHash(...live)).toBe(before)
    expect(world.leftovers()).toHaveLength(1000)
  }
  // The difference is the longer report, plus garbage that is not collected yet.
  expect((peaks[10_000] ?? 0) - (peaks[2000] ?? 0)).toBeLessThan(48)
})

test('a long sweep shows its progress on a terminal, and clears the line at the end', async () => {
  await using world = new World()
  for (let i = 0; i < 5000; i++) plant(world, dead())
  await using terminal = await Terminal.open(world)
  const record = join(world.tmp, 'record')
  terminal.record(record)
  terminal.enter('clear; CI= stint sweep')
  await terminal.shows(/removed 5000,[^]*\[0\] ready>$/)
  await until('the record is complete', () => readFileSync(record, 'utf8').includes('removed 5000,'))
  expect(readFileSync(record, 'utf8')).toMatch(/sweeping \d+\/5000 {2}\S+ \w+ {2}\d+s/)
  expect(terminal.screen()).not.toContain('sweeping')
})
