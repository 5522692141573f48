import { expect, test } from 'vitest'
import {
  countOf,
  exactTime,
  shortAge,
  shortDuration,
  shortened,
  shown,
  shownCount,
  shownLines,
} from './format.ts'

test('durations have two units, ages have one', () => {
  expect([0, 999, 1000, 61_000, 3_600_000, 11_520_000, 90_000_000].map(shortDuration)).toEqual([
    '0ms',
    '999ms',
    '1s',
    '1m 1s',
    '1h',
    '3h 12m',
    '1d 1h',
  ])
  expect([-5, 999, 12_000, 300_000, 7_200_000, 172_800_000].map(shortAge)).toEqual([
    'now',
    'now',
    '12s',
    '5m',
    '2h',
    '2d',
  ])
})

test('a count of one has no plural', () => {
  expect([0, 1, 1204].map((count) => countOf(count, 'record'))).toEqual([
    '0 records',
    '1 record',
    '1,204 records',
  ])
})

test('counts have their thousands apart, and an exact time is that of this place', () => {
  expect([0, 999, 1000, 10_001, 1_234_567].map(shownCount)).toEqual([
    '0',
    '999',
    '1,000',
    '10,001',
    '1,234,567',
  ])
  expect(exactTime(new Date(2026, 10, 7, 9, 5, 3).getTime())).toBe('2026-11-07 09:05:03')
})

test('text of others shows what would hide or turn it around, and is cut', () => {
  expect(shown('a\u202eb\u001b[31m')).toBe(String.raw`a\u202eb\u001b[31m`)
  expect(shown('x'.repeat(1_000_000))).toHaveLength(301)
  expect(shownLines('a\n\tb\u0007')).toBe(`a\n\tb${String.raw`\u0007`}`)
  expect(shownLines('x'.repeat(1_000_000)).length).toBeLessThan(20_100)
})

test('a long id keeps its begin and its end', () => {
  expect(shortened('ses_01ARZ3NDEKTSV4RRFFQ69G5FAV', 14)).toBe('ses_01A…9G5FAV')
  expect(shortened('short', 14)).toBe('short')
})
