import { expect, test } from 'vitest'
import { searchKilled, searchResumed, searchTakeovers } from '../../../test/support/crash-nested.ts'
import { type Found, report, search } from '../../../test/support/crash-search.ts'
import type { Bounds } from '../../../test/support/crash-states.ts'
import {
  afterResume,
  closedAtOnce,
  id,
  unwatched,
  type Workload,
  workloads,
} from '../../../test/support/crash-workloads.ts'
import { commitWays } from '../../../test/support/later-turns.ts'

// test/support/crash-disk.ts describes the simulated disk. `npm run torture` searches wider.
const bounds: Bounds = { allSubsetsOf: 2, tearEvery: 151, combinations: 2 }
const few: Bounds = { allSubsetsOf: 1, tearEvery: 301, combinations: 1 }

/** Searches all workloads. */
async function forAll(name: string, searchOne: (workload: Workload) => Promise<Found>): Promise<string[]> {
  const found: Found[] = []
  for (const workload of workloads) found.push(await searchOne(workload))
  return report(name, ...found)
}

test.each(workloads)(
  'after a crash at any moment of $name, all acknowledged records exist, in order',
  async (workload) => {
    expect(report(workload.name, await search(workload, { bounds, goOnEvery: 3 }))).toEqual([])
  },
)

test.each(workloads)('a crash of $name loses nothing with commits in the thread pool', async (workload) => {
  const options = { bounds: few, goOnEvery: 9, way: 'in the thread pool' } as const
  expect(report(workload.name, await search(workload, options))).toEqual([])
})

test('a write that is torn at any byte loses nothing acknowledged', async () => {
  const bytewise: Workload = {
    name: 'torn at any byte',
    sizes: { growBytes: 700 },
    async run(simulation) {
      const session = await unwatched(simulation, () => simulation.create(id))
      await session.append('1')
      await session.note('a')
    },
  }
  const every = { allSubsetsOf: 2, tearEvery: 1, combinations: 2 }
  expect(report(bytewise.name, await search(bytewise, { bounds: every, quick: true }))).toEqual([])
})

test.each([afterResume, closedAtOnce])(
  'a crash during recovery, or when $name, loses nothing recovered or acknowledged',
  async (then) => {
    const searchOne = (workload: Workload) =>
      searchResumed(workload, { bounds: few, picks: 1, quick: true }, then)
    expect(await forAll(then.name, searchOne)).toEqual([])
  },
)

test.each(commitWays)(
  'a killed process and a power cut during the next one lose nothing, with commits %s',
  async (way) => {
    const options = { bounds: few, every: 97, quick: true, way }
    expect(await forAll('killed', (workload) => searchKilled(workload, options))).toEqual([])
  },
)

test.each([
  ['wakes up after a takeover', 'on the event loop', false],
  ['wakes up after a takeover', 'in the thread pool', false],
  ['wakes up before the new writer opens the session', 'on the event loop', true],
  ['wakes up before the new writer opens the session', 'in the thread pool', true],
] as const)(
  'a suspended writer that %s loses nothing acknowledged, and spoils nothing, with commits %s',
  async (name, way, late) => {
    expect(await forAll(name, (workload) => searchTakeovers(workload, late, 5, way))).toEqual([])
  },
)
