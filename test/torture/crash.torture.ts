import { expect, test } from 'vitest'
import { searchKilled, searchResumed, searchTakeovers } from '../support/crash-nested.ts'
import { report, search } from '../support/crash-search.ts'
import type { Bounds } from '../support/crash-states.ts'
import { afterResume, closedAtOnce, workloads } from '../support/crash-workloads.ts'
import { commitWays } from '../support/later-turns.ts'

const bounds: Bounds = { allSubsetsOf: 5, tearEvery: 5, combinations: 40 }
const fewer: Bounds = { allSubsetsOf: 2, tearEvery: 301, combinations: 4 }

test.each(workloads)(
  'every crash of $name, for each of its sessions and every lock record that may be left',
  async (workload) => {
    expect(report(workload.name, await search(workload, { bounds, thorough: true }))).toEqual([])
  },
)

test.each(workloads)(
  'every crash of $name, and every crash of the session that is resumed after it',
  async (workload) => {
    for (const then of [afterResume, closedAtOnce]) {
      const found = await searchResumed(workload, { bounds: fewer, picks: 40, quick: true }, then)
      expect(report(`${workload.name}, then ${then.name}`, found)).toEqual([])
    }
  },
)

test.each(workloads)(
  '$name, killed before each change, with a power cut in the next process',
  async (workload) => {
    expect(
      report(workload.name, await searchKilled(workload, { bounds: fewer, every: 1, quick: true })),
    ).toEqual([])
  },
)

test.each(workloads)('$name, taken over before each change', async (workload) => {
  for (const late of [false, true])
    for (const way of commitWays)
      expect(report(workload.name, await searchTakeovers(workload, late, 1, way))).toEqual([])
})

test.each(workloads)('every crash of $name, with commits in the thread pool', async (workload) => {
  const options = { bounds, thorough: true, way: 'in the thread pool' } as const
  expect(report(workload.name, await search(workload, options))).toEqual([])
})
