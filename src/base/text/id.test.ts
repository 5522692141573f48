import fc from 'fast-check'
import { expect, test } from 'vitest'
import { isRequestId, isSessionId, newRequestId, newSessionId, ulid } from './id.ts'

test('a ULID sorts by time, keeps its random bits and is unique', () => {
  expect(ulid(0, new Uint8Array(10))).toBe('0'.repeat(26))
  expect(ulid(2 ** 48 - 1, new Uint8Array(10).fill(255))).toBe('7ZZZZZZZZZZZZZZZZZZZZZZZZZ')
  fc.assert(
    fc.property(fc.nat({ max: 2 ** 47 }), fc.nat({ max: 2 ** 47 }), (a, b) => {
      expect(Math.sign(a - b)).toBe(Math.sign(ulid(a).slice(0, 10).localeCompare(ulid(b).slice(0, 10))))
    }),
  )
  expect(new Set(Array.from({ length: 10_000 }, () => newRequestId())).size).toBe(10_000)
})

test('ULIDs of one process increase, also within a millisecond', () => {
  const now = Date.now()
  const ids = Array.from({ length: 1000 }, () => ulid(now))
  expect(new Set(ids).size).toBe(1000)
  expect(ids.toSorted()).toEqual(ids)
})

test('every accepted session id is safe as a file name', () => {
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
