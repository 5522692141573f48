import { expect, test } from 'vitest'
import { mutations } from '../../../test/support/crash-mutations.ts'
import { searchKilled, searchTakeovers } from '../../../test/support/crash-nested.ts'
import { search } from '../../../test/support/crash-search.ts'
import { checkOwnerBeforeWriting } from '../../../test/support/crash-locks.ts'
import { workloadNamed } from '../../../test/support/crash-workloads.ts'
import { poolMutations, withQueue } from '../../../test/support/pool-mutations.ts'

const bounds = { allSubsetsOf: 3, tearEvery: 61, combinations: 8 }
/** The bounds of nested searches in `medium-crash.test.ts`. */
const few = { allSubsetsOf: 1, tearEvery: 301, combinations: 1 }

test.each(mutations)('the crash search notices $name', async ({ workload: name, killed, ...wraps }) => {
  const options = { ...wraps, bounds: killed ? few : bounds, first: true, every: 2 }
  const { violations } = await (killed ? searchKilled : search)(workloadNamed(name), options)
  expect(violations).not.toEqual([])
})

test.each(poolMutations)('the crash search notices $name', async ({ workload: name, pool, run }) => {
  const { violations } = await withQueue(run, () =>
    search(workloadNamed(name), { bounds, first: true, pool }),
  )
  expect(violations).not.toEqual([])
})

test('the crash search notices a journal record that outlives an earlier line of the audit log', async () => {
  const wrap = mutations.find(({ name }) => name === 'an audit log that is not synced')?.wrap
  const { violations } = await search(workloadNamed('requests that wait for nothing'), { bounds, wrap })
  expect(violations.join('\n')).toContain('outlives the earlier audit line')
})

test('the search for takeovers notices a lock that is checked before the sync instead of after it', async () => {
  const workload = workloadNamed('single appends')
  const way = 'in the thread pool'
  const { violations } = await searchTakeovers(workload, false, 1, way, checkOwnerBeforeWriting)
  expect(violations).not.toEqual([])
})
