import { expect, test } from 'vitest'
import { replaceSpans } from './forms.ts'

/** Replaces spans by `<owner>`, or `<token>` for a span without one. */
const replaced = (spans: [number, number, number?][], text: string) =>
  replaceSpans(
    text,
    spans.map(([start, end, owner]) => ({ start, end, owner })),
    ({ owner }) => `<${owner ?? 'token'}>`,
  )

test('overlapping spans become one, named after the longest registered secret', () => {
  const text = 'abcdefghij'
  expect(
    replaced(
      [
        [6, 8, 1],
        [1, 3, 0],
      ],
      text,
    ),
  ).toBe('a<0>def<1>ij')
  expect(
    replaced(
      [
        [1, 4, 0],
        [3, 8, 1],
      ],
      text,
    ),
  ).toBe('a<1>ij')
  expect(
    replaced(
      [
        [1, 9],
        [3, 5, 1],
      ],
      text,
    ),
  ).toBe('a<1>j')
  expect(
    replaced(
      [
        [2, 5, 1],
        [0, 10],
      ],
      text,
    ),
  ).toBe('<1>')
  expect(
    replaced(
      [
        [0, 10, 0],
        [1, 2, 1],
        [4, 5, 1],
      ],
      text,
    ),
  ).toBe('<0>')
  expect(
    replaced(
      [
        [1, 2, 0],
        [2, 3, 1],
      ],
      text,
    ),
  ).toBe('a<0><1>defghij')
})
