import fc from 'fast-check'
import { expect, test } from 'vitest'
import { sample } from '../../../test/support/sample.ts'
import { parseSample } from './sample.ts'

test('a sample is read back as written; a torn, damaged or foreign line is refused', () => {
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
