import fc from 'fast-check'
import { expect, test } from 'vitest'
import { sample } from '../../../test/support/sample.ts'
import { peaksOverTime, summarizeActivity } from './activity.ts'

const day = 86_400_000

test('scratches created and removed follow from the counts of consecutive samples', () => {
  const samples = [
    sample(0, { scratches: 3 }),
    sample(day, { scratches: 4, created: 2 }),
    // The sweep removed three scratches that no sample had seen.
    sample(2 * day, { scratches: 4, swept: 3, freed: 600, disk_freed: 6000 }),
  ]
  expect(summarizeActivity(samples)).toEqual({
    samples: 3,
    from: 0,
    to: 2 * day,
    created: 5,
    removed: 4,
    freed: 600,
    disk_freed: 6000,
    created_per_day: 2.5,
    removed_per_day: 2,
    freed_per_day: 300,
    disk_freed_per_day: 3000,
  })
})

test('created minus removed is the change in scratches, whatever the samples say; less than a day counts as a day', () => {
  const arbitrary = fc.record({ scratches: fc.nat(20), created: fc.nat(20), swept: fc.nat(20) })
  fc.assert(
    fc.property(fc.array(arbitrary, { minLength: 2 }), (fields) => {
      const samples = fields.map((each, index) =>
        sample(index, { ...each, created: Math.min(each.created, each.scratches) }),
      )
      const activity = summarizeActivity(samples)
      const firstSwept = samples[0]?.swept ?? 0
      expect(activity).toMatchObject({
        created_per_day: activity?.created,
        removed_per_day: activity?.removed,
      })
      expect(
        (samples[0]?.scratches ?? 0) + (activity?.created ?? 0) - ((activity?.removed ?? 0) - firstSwept),
      ).toBe(samples.at(-1)?.scratches)
      expect(activity?.created).toBeGreaterThanOrEqual(0)
    }),
  )
})

test('without samples there is no activity; one sample shows none', () => {
  expect(summarizeActivity([])).toBeUndefined()
  expect(summarizeActivity([sample(5, { scratches: 2 })])).toMatchObject({
    samples: 1,
    created: 0,
    removed: 0,
  })
})

test('a series has the peak of each step, and repeats the last one where there is no sample', () => {
  const samples = [
    sample(0, { bytes_found: 5 }),
    sample(1, { bytes_found: 9 }),
    sample(90, { bytes_found: 2 }),
    sample(100, { bytes_found: 1 }),
  ]
  expect(peaksOverTime(samples, 'bytes_found', 4)).toEqual([9, 9, 9, 2])
  expect(peaksOverTime(samples.slice(0, 1), 'bytes_found', 4)).toEqual([5])
  expect(peaksOverTime([], 'bytes_found', 4)).toEqual([])
})
