import fc from 'fast-check'
import { expect, test } from 'vitest'
import { wrap, wrapLines } from './wrap.ts'

test('a string is broken between words, and loses none', () => {
  const text = fc.array(fc.stringMatching(/^[a-z]{1,12}$/), { minLength: 1 }).map((words) => words.join(' '))
  fc.assert(
    fc.property(text, fc.integer({ min: 1, max: 60 }), (text, width) => {
      const lines = wrap(text, width)
      expect(lines.join(' ')).toBe(text)
      for (const line of lines) expect(line.length <= width || !line.includes(' ')).toBe(true)
    }),
  )
})

test('a text is wrapped line by line; a line that is continued keeps its indentation, or gets two columns', () => {
  const text = 'stint: cannot find the file (NOT_FOUND)\n  Check the path, and what is there.\nend'
  expect(wrapLines(text, 24).split('\n')).toEqual([
    'stint: cannot find the',
    '  file (NOT_FOUND)',
    '  Check the path, and',
    '  what is there.',
    'end',
  ])
  expect(wrapLines(text, Number.POSITIVE_INFINITY)).toBe(text)
})

test('a wide character counts as two columns', () => {
  expect(wrap('日本語 日本語 end', 13)).toEqual(['日本語 日本語', 'end'])
  expect(wrap('日本語 日本語 end', 12)).toEqual(['日本語', '日本語 end'])
})
