import fc from 'fast-check'
import { expect, test } from 'vitest'
import { sample } from '../../../test/support/sample.ts'
import { activityOf } from './activity.ts'
import { budgetLevel } from './budget.ts'
import { contextsContaining, parseContext } from '../../scratch/context-log.ts'
import { parseSample } from './sample.ts'
import { seriesOf, sparkline } from './sparkline.ts'

const day = 86_400_000

test('what has come and gone follows from what was there before, what is new and what is there now', () => {
  const samples = [
    sample(0, { scratches: 3 }),
    sample(day, { scratches: 4, created: 2 }),
    // Three that nobody has seen come were swept.
    sample(2 * day, { scratches: 4, swept: 3, freed: 600 }),
  ]
  expect(activityOf(samples)).toEqual({
    samples: 3,
    from: 0,
    to: 2 * day,
    created: 5,
    removed: 4,
    freed: 600,
    created_per_day: 2.5,
    removed_per_day: 2,
    freed_per_day: 300,
  })
})

test('what comes minus what goes is what is there, whatever the samples say; a rate is never guessed from less than a day', () => {
  const arbitrary = fc.record({ scratches: fc.nat(20), created: fc.nat(20), swept: fc.nat(20) })
  fc.assert(
    fc.property(fc.array(arbitrary, { minLength: 2 }), (fields) => {
      const samples = fields.map((each, index) =>
        sample(index, { ...each, created: Math.min(each.created, each.scratches) }),
      )
      const activity = activityOf(samples)
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

test('no samples, no activity; one sample is a moment', () => {
  expect(activityOf([])).toBeUndefined()
  expect(activityOf([sample(5, { scratches: 2 })])).toMatchObject({ samples: 1, created: 0, removed: 0 })
})

test('a sparkline has a bar a value, the highest for the largest', () => {
  expect(sparkline([0, 1, 2, 3, 4, 5, 6, 7])).toBe('▁▂▃▄▅▆▇█')
  expect(sparkline([0, 0])).toBe('▁▁')
  expect(sparkline([])).toBe('')
})

test('a series has the peak of each stretch, and goes on where there was no sample', () => {
  const samples = [
    sample(0, { bytes_found: 5 }),
    sample(1, { bytes_found: 9 }),
    sample(90, { bytes_found: 2 }),
    sample(100, { bytes_found: 1 }),
  ]
  expect(seriesOf(samples, 'bytes_found', 4)).toEqual([9, 9, 9, 2])
  expect(seriesOf(samples.slice(0, 1), 'bytes_found', 4)).toEqual([5])
  expect(seriesOf([], 'bytes_found', 4)).toEqual([])
})

test('a budget is kept up to its limit, and near from 80 % on', () => {
  const level = (bytes: number, files: number) =>
    budgetLevel({ bytes, files }, { maxBytes: 100, maxFiles: 10 })
  expect([level(80, 8), level(81, 0), level(0, 9), level(100, 10), level(101, 0), level(0, 11)]).toEqual([
    'within',
    'near',
    'near',
    'near',
    'over',
    'over',
  ])
  const none = { maxBytes: 0, maxFiles: undefined }
  expect([budgetLevel({ bytes: 0, files: 9 }, none), budgetLevel({ bytes: 1, files: 0 }, none)]).toEqual([
    'within',
    'over',
  ])
})

test('a sample is read back as it was; torn, changed or foreign lines are none', () => {
  const line = JSON.stringify(sample(7, { bytes: 3 }))
  expect(parseSample(line)).toEqual(sample(7, { bytes: 3 }))
  for (let length = 0; length < line.length; length++)
    expect(parseSample(line.slice(0, length))).toBeUndefined()
  for (const wrong of [
    { bytes: -1 },
    { bytes: '3' },
    { at: 1.5 },
    { by: 'me' },
    { schema_version: 2 },
    { files: null },
  ])
    expect(parseSample(JSON.stringify({ ...sample(7), ...wrong }))).toBeUndefined()
  fc.assert(
    fc.property(fc.oneof(fc.string(), fc.json()), (text) => {
      expect(parseSample(text)).toBeUndefined()
    }),
  )
})

test('contexts nest by their directories; a line that leads out of the scratch is none', () => {
  const line = (dir: string, name: string, file: string | null = null) =>
    parseContext(JSON.stringify({ dir, name, file }))
  const lines = [
    line('1-a', 'a', 'a.test.ts'),
    line('1-a/2-b', 'old'),
    line('1-a/2-b', 'a > b'),
    line('1-ab', 'other'),
  ].flatMap((each) => each ?? [])
  const namesOf = (inside: string) => contextsContaining(inside, lines).map(({ name }) => name)
  expect(namesOf('1-a/2-b/file')).toEqual(['a', 'a > b'])
  expect(namesOf('1-a')).toEqual(['a'])
  expect(namesOf('1-abc')).toEqual([])
  expect(namesOf('')).toEqual([])
  for (const dir of ['../x', '/etc', '', 'a//b', './a', 'a/..']) expect(line(dir, 'x')).toBeUndefined()
  expect(parseContext('{"dir":"a","name":7}')).toBeUndefined()
  expect(line('a', 'x\u001b[2Jy')?.name).toBe(String.raw`x\u001b[2Jy`)
})
