import { expect, test } from 'vitest'
import { cell, pathCell, table } from './table.ts'

test('columns stay aligned where titles are wider on a terminal than in memory, or narrower', () => {
  const rows = ['plain', '日本語の題名', '🚀 launch', 'cafe\u0301', '❤️', '🇨🇭'].map((title) => [
    title,
    '7',
    'end',
  ])
  expect(table(['TITLE', '>SIZE', 'LAST'], rows)).toEqual([
    'TITLE         SIZE  LAST',
    'plain            7  end',
    '日本語の題名     7  end',
    '🚀 launch        7  end',
    'cafe\u0301             7  end',
    '❤️               7  end',
    '🇨🇭               7  end',
  ])
})

test('amounts are aligned on the right, also wide ones', () => {
  expect(
    table(
      ['>SIZE', 'NAME'],
      [
        ['１２', 'a'],
        ['3', 'b'],
      ],
    ),
  ).toEqual(['SIZE  NAME', '１２  a', '   3  b'])
})

test('a column that is empty in every row is left out', () => {
  expect(table(['A', 'B', 'C'], [['1', '', '3']])).toEqual(['A  C', '1  3'])
})

test.each([
  ['short', 'short', 'short'],
  ['exactly ten', 'exactly t…', '…actly ten'],
  ['日本語の題名です', '日本語の…', '…題名です'],
  ['a日本語の題名で', 'a日本語の…', '…の題名で'],
  ['🚀🚀🚀🚀🚀🚀', '🚀🚀🚀🚀…', '…🚀🚀🚀🚀'],
  ['e\u0301'.repeat(10), 'e\u0301'.repeat(10), 'e\u0301'.repeat(10)],
  [null, '', ''],
])('%s is cut to ten columns between characters', (text, start, end) => {
  expect(cell(text, 10)).toBe(start)
  expect(pathCell(text, 10)).toBe(end)
})

test('characters that a terminal would obey are shown as escapes', () => {
  expect(cell('a\u001b[2Jb', 40)).toBe(String.raw`a\u001b[2Jb`)
})
