import { expect, test } from 'vitest'
import { displayWidth, truncate } from './wrap.ts'

test.each([
  ['', 0],
  ['plain', 5],
  ['naïve', 5],
  ['e\u0301', 1],
  ['日本語', 6],
  ['ｶﾀｶﾅ', 4],
  ['한글', 4],
  ['\u1112\u1161\u11ab', 2],
  ['🚀', 2],
  ['👩‍💻', 2],
  ['👍🏽', 2],
  ['🇨🇭', 2],
  ['❤️', 2],
  ['❤', 1],
  ['→ …', 3],
  ['\u0301', 0],
])('%j takes %i columns', (text, columns) => {
  expect(displayWidth(text)).toBe(columns)
})

test('a string is cut between characters, and never wider than asked', () => {
  expect(truncate('👩‍💻👩‍💻👩‍💻', 5)).toBe('👩‍💻👩‍💻…')
  expect(truncate('👩‍💻👩‍💻👩‍💻', 4)).toBe('👩‍💻…')
  expect(truncate('👩‍💻👩‍💻👩‍💻', 5, 'middle')).toBe('👩‍💻…👩‍💻')
  expect(truncate('ses_01JB5Q', 7, 'middle')).toBe('ses…B5Q')
  expect(truncate('日本語の題名', 8, 'middle')).toBe('日本…名')
  expect(truncate('abc', 1, 'middle')).toBe('…')
  expect(truncate('👩‍💻👩‍💻👩‍💻', 6)).toBe('👩‍💻👩‍💻👩‍💻')
})
