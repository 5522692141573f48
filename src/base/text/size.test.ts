import fc from 'fast-check'
import { expect, test } from 'vitest'
import { formatBytes, parseSize } from './size.ts'

test.each([
  ['0', 0],
  ['4096', 4096],
  ['12b', 12],
  ['500MB', 500e6],
  ['500mb', 500e6],
  ['2GiB', 2 * 2 ** 30],
  ['1.5g', 1.5 * 2 ** 30],
  ['1k', 1024],
  ['1KB', 1000],
  ['1 MiB', 2 ** 20],
  ['0.5T', 2 ** 39],
  ['1P', 2 ** 50],
])('%s is %i bytes', (text, bytes) => {
  expect(parseSize(text)).toBe(bytes)
})

test.each([
  '',
  'big',
  '-1',
  '1.5',
  '1e3',
  '5ib',
  '5i',
  '.5g',
  '5 ',
  '1  k',
  '5xb',
  '9P9',
  '10P',
  '∞',
  '9'.repeat(400),
])('%j is not a size', (text) => {
  expect(parseSize(text)).toBeUndefined()
})

test('no string makes the size parser throw or return an invalid number', () => {
  const nearly = fc.stringMatching(/^[\d.]{1,20} ?[kmgtpKMGTPx]?[iI]?[bB]?$/)
  fc.assert(
    fc.property(fc.oneof(fc.string(), nearly), (text) => {
      const bytes = parseSize(text)
      expect(bytes === undefined || (Number.isSafeInteger(bytes) && bytes >= 0)).toBe(true)
    }),
  )
})

test('plain bytes parse to themselves, and a formatted size parses to nearly the same number', () => {
  fc.assert(
    fc.property(fc.nat({ max: 2 ** 52 }), (bytes) => {
      expect(parseSize(String(bytes))).toBe(bytes)
      expect(Math.abs((parseSize(formatBytes(bytes)) ?? Number.NaN) - bytes)).toBeLessThanOrEqual(
        bytes * 0.05,
      )
    }),
  )
})
