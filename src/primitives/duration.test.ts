import fc from 'fast-check'
import { expect, test } from 'vitest'
import { formatDuration, parseDuration } from './duration.ts'

test.each([
  ['300ms', 300],
  ['5m', 300_000],
  ['1h30m', 5_400_000],
  ['1.5s', 1500],
  ['2d', 172_800_000],
  ['7', 7000],
  ['0', 0],
])('%s is %i ms', (text, ms) => {
  expect(parseDuration(text)).toBe(ms)
})

test.each(['', 'soon', '-5s', '5 m', '5x', 's', '1e3', '1h 30m', '.5s', '∞', '9'.repeat(400), 'NaN'])(
  '%j is no duration',
  (text) => {
    expect(parseDuration(text)).toBeUndefined()
  },
)

test('what is written as a duration is read back as the same', () => {
  fc.assert(
    fc.property(fc.nat({ max: 1e12 }), (ms) => {
      expect(parseDuration(formatDuration(ms))).toBe(ms)
    }),
  )
})

test('no text makes the duration parser throw or answer with nonsense', () => {
  fc.assert(
    fc.property(fc.string(), (text) => {
      const ms = parseDuration(text)
      expect(ms === undefined || (Number.isSafeInteger(ms) && ms >= 0)).toBe(true)
    }),
  )
})
