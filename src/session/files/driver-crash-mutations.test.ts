import { expect, test } from 'vitest'
import { mutations } from '../../../test/support/crash-mutations.ts'
import { searchKilled } from '../../../test/support/crash-nested.ts'
import { search } from '../../../test/support/crash-search.ts'
import { workloadNamed } from '../../../test/support/crash-workloads.ts'

const bounds = { allSubsetsOf: 3, tearEvery: 61, combinations: 8 }
/** The bounds of nested searches in `driver-crash.test.ts`. */
const few = { allSubsetsOf: 1, tearEvery: 301, combinations: 1 }

test.each(mutations)('the crash search notices $name', async ({ workload: name, killed, ...wraps }) => {
  const options = { ...wraps, bounds: killed ? few : bounds, first: true, every: 5 }
  const { violations } = await (killed ? searchKilled : search)(workloadNamed(name), options)
  expect(violations).not.toEqual([])
})
