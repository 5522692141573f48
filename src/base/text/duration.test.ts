import fc from 'fast-check'
import { expect, test } from 'vitest'
import { durationHint, durationMs, formatDuration, parseDuration } from './duration.ts'

test.each([
  ['300ms', 300],
  ['5m', 300_000],
  ['1h30m', 5_400_000],
  ['1.5s', 1500],
  ['2d', 172_800_000],
  ['7', 7000],
  ['0', 0],
  ['.5', 500],
  ['.5s', 500],
  ['0.5s', 500],
  ['10sec', 10_000],
  ['2min', 120_000],
  ['2 m', 120_000],
  [' 2 Minutes ', 120_000],
  ['2hours', 7_200_000],
  ['3HRS', 10_800_000],
  ['1h 30m', 5_400_000],
  ['1 hour 30 minutes', 5_400_000],
  ['1day', 86_400_000],
  ['1w', 604_800_000],
  ['2weeks', 1_209_600_000],
  ['250 milliseconds', 250],
])('%s is %i ms', (text, ms) => {
  expect(parseDuration(text)).toBe(ms)
})

test.each([
  '',
  ' ',
  'soon',
  '-5s',
  '5x',
  's',
  '.s',
  '5.s',
  '1e3',
  '1h 30',
  '1h-30m',
  '5 5m',
  '5M',
  '1h5M',
  '1month',
  '1constructor',
  '∞',
  '٣s',
  '9'.repeat(400),
  'NaN',
])('%j is not a duration', (text) => {
  expect(parseDuration(text)).toBeUndefined()
})

test('an uppercase M is refused with a hint, as it could be minutes or months', () => {
  expect(durationHint('5M')).toBe('Minutes are a small m: 5m.')
  expect(durationHint('1h 5 M')).toBe('Minutes are a small m: 1h 5 m.')
  expect(durationHint('5MB')).toBe(durationHint('soon'))
  expect(durationHint('M')).toBe(durationHint('soon'))
})

test('a formatted duration parses to the same number of milliseconds', () => {
  fc.assert(
    fc.property(fc.nat({ max: 1e12 }), (ms) => {
      expect(parseDuration(formatDuration(ms))).toBe(ms)
    }),
  )
})

test('no string makes the duration parser throw or return an invalid number', () => {
  fc.assert(
    fc.property(fc.string(), (text) => {
      const ms = parseDuration(text)
      expect(ms === undefined || (Number.isSafeInteger(ms) && ms >= 0)).toBe(true)
    }),
  )
})

test('a duration option of the library is a number of milliseconds, or a string with a unit', () => {
  expect(durationMs(250, 'wait')).toBe(250)
  expect(durationMs('10s', 'wait')).toBe(10_000)
})

test.each([
  ['10', 'Add a unit, as in 10s or 10ms, or pass a number of milliseconds.'],
  [' .5 ', 'Add a unit, as in .5s or .5ms, or pass a number of milliseconds.'],
  ['soon', 'Write it as 300ms, 30s, 5m or 1h30m.'],
  [-1, 'Write it as 300ms, 30s, 5m or 1h30m.'],
  [Number.NaN, 'Write it as 300ms, 30s, 5m or 1h30m.'],
])('%j is refused as a duration option, with a hint', (value, hint) => {
  expect(() => durationMs(value, 'wait')).toThrow(expect.objectContaining({ code: 'ARG_ERROR', hint }))
})
