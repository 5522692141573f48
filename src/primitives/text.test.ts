import fc from 'fast-check'
import { expect, test } from 'vitest'
import { formatDuration, parseDuration } from './duration.ts'
import { isRequestId, isSessionId, newRequestId, newSessionId, ulid } from './id.ts'

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

test('a ULID sorts by time, keeps its bits and is never the same twice', () => {
  expect(ulid(0, new Uint8Array(10))).toBe('0'.repeat(26))
  expect(ulid(2 ** 48 - 1, new Uint8Array(10).fill(255))).toBe('7ZZZZZZZZZZZZZZZZZZZZZZZZZ')
  fc.assert(
    fc.property(fc.nat({ max: 2 ** 47 }), fc.nat({ max: 2 ** 47 }), (a, b) => {
      expect(Math.sign(a - b)).toBe(Math.sign(ulid(a).slice(0, 10).localeCompare(ulid(b).slice(0, 10))))
    }),
  )
  expect(new Set(Array.from({ length: 10_000 }, () => newRequestId())).size).toBe(10_000)
})

test('an id is safe as a file name or it is none', () => {
  expect(isRequestId(newRequestId())).toBe(true)
  expect(isSessionId(newSessionId())).toBe(true)
  for (const id of [
    '..',
    '.',
    '',
    'a/b',
    'a\0',
    '-rf',
    '.hidden',
    'a b',
    'é',
    '🙂',
    'x'.repeat(129),
    'a\n',
  ]) {
    expect(isSessionId(id), JSON.stringify(id)).toBe(false)
  }
  for (const id of ['a', '0', 'abc-DEF_1.2', 'x'.repeat(128)]) expect(isSessionId(id)).toBe(true)
})
