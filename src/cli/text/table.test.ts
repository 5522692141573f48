import { expect, test } from 'vitest'
import { displayWidth } from '../../base/text/wrap.ts'
import { type Column, table } from './table.ts'

/** Columns of rows that are arrays. */
const columnsOf = (...columns: (string | Partial<Column<string[]>>)[]): Column<string[]>[] =>
  columns.map((column, index) => ({
    title: typeof column === 'string' ? column : '',
    cell: (row: string[]) => row[index] ?? '',
    ...(typeof column === 'string' ? {} : column),
  }))

test('columns stay aligned where titles are wider on a terminal than in memory, or narrower', () => {
  const rows = ['plain', '日本語の題名', '🚀 launch', 'cafe\u0301', '❤️', '🇨🇭'].map((title) => [
    title,
    '7',
    'end',
  ])
  expect(table(rows, columnsOf('TITLE', { title: 'SIZE', align: 'right' }, 'LAST'))).toEqual([
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
  const rows = [
    ['１２', 'a'],
    ['3', 'b'],
  ]
  expect(table(rows, columnsOf({ title: 'SIZE', align: 'right' }, 'NAME'))).toEqual([
    'SIZE  NAME',
    '１２  a',
    '   3  b',
  ])
})

test('a column that is empty in every row is left out, and a table without rows is empty', () => {
  expect(table([['1', '', '3']], columnsOf('A', 'B', 'C'))).toEqual(['A  C', '1  3'])
  expect(table([], columnsOf('A', 'B'))).toEqual([])
})

const wide = columnsOf(
  { title: 'ID', cut: 'middle', least: 9 },
  'STATE',
  { title: 'SIZE', spare: 2 },
  { title: 'TURNS', spare: 1 },
  { title: 'TITLE', cut: 'end', least: 10 },
)
const rows = [
  ['ses_01JB5QWERTYUIOPASDFGHJKLZX', 'crashed', '12 KiB', '7', 'rename the tables of the old schema'],
  ['short', 'active', '1 B', '123', '日本語の題名です日本語の題名です'],
]

test.each([
  [
    'cells are cut: ids in the middle, prose at the end',
    70,
    [
      'ID                     STATE    SIZE    TURNS  TITLE',
      'ses_01JB5Q…SDFGHJKLZX  crashed  12 KiB  7      rename the tables of t…',
      'short                  active   1 B     123    日本語の題名です日本語…',
    ],
  ],
  [
    'then the most expendable column is left out',
    43,
    [
      'ID           STATE    SIZE    TITLE',
      'ses_0…JKLZX  crashed  12 KiB  rename the t…',
      'short        active   1 B     日本語の題名…',
    ],
  ],
  [
    'and then the next one',
    32,
    ['ID          STATE    TITLE', 'ses_0…KLZX  crashed  rename the…', 'short       active   日本語の題…'],
  ],
])('where there is too little room, %s', (_, width, lines) => {
  expect(table(rows, wide, width)).toEqual(lines)
})

test('no row is wider than the terminal, however narrow that is', () => {
  for (let width = 1; width < 120; width++)
    for (const line of table(rows, wide, width)) expect(displayWidth(line)).toBeLessThanOrEqual(width)
})

test('a table that is not for a terminal is never cut', () => {
  expect(table(rows, wide).join('\n')).toContain('ses_01JB5QWERTYUIOPASDFGHJKLZX  crashed  12 KiB  7')
})

test('characters that a terminal would obey are shown as escapes', () => {
  expect(table([['a\u001b[2Jb']], columnsOf('A'))[1]).toBe(String.raw`a\u001b[2Jb`)
})
