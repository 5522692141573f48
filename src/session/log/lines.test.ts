import fc from 'fast-check'
import { expect, test } from 'vitest'
import { type Line, linesBackwards, linesFrom, type ReadAt } from './lines.ts'

/** Reads at most a few bytes at a time, as a file may. */
const reading =
  (bytes: Buffer, atMost = Number.POSITIVE_INFINITY): ReadAt =>
  (into, position) =>
    bytes.copy(into, 0, position, Math.min(bytes.length, position + atMost))

const shown = ({ bytes, offset, ended }: Line): string => `${offset} ${bytes.toString('latin1')} ${ended}`

test('lines are read forwards and backwards, in whatever pieces the file is read', () => {
  const piece = fc.oneof(fc.constant('\n'), fc.string({ maxLength: 6 }), fc.constant('x'.repeat(40)))
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 30 }), fc.integer({ min: 1, max: 9 }), (pieces, atMost) => {
      const bytes = Buffer.from(pieces.join(''))
      const expected: string[] = []
      for (let start = 0; start < bytes.length;) {
        const at = bytes.indexOf(0x0a, start)
        const end = at < 0 ? bytes.length : at
        if (end > start) expected.push(`${start} ${bytes.toString('latin1', start, end)} ${at >= 0}`)
        start = end + 1
      }
      expect(Array.from(linesFrom(reading(bytes, atMost)), shown)).toEqual(expected)
      expect(Array.from(linesBackwards(reading(bytes, atMost), bytes.length), shown)).toEqual(
        expected.toReversed(),
      )
    }),
  )
})

test('a long line is read whole, and the filling at the end of a file is skipped', () => {
  const long = 'x'.repeat(3 << 20)
  const bytes = Buffer.from(`one\n${long}\ntwo\n${'\n'.repeat(5 << 20)}`)
  expect(Array.from(linesFrom(reading(bytes)), ({ bytes }) => bytes.length)).toEqual([3, 3 << 20, 3])
  expect(Array.from(linesBackwards(reading(bytes), bytes.length), ({ bytes }) => bytes.length)).toEqual([
    3,
    3 << 20,
    3,
  ])
  expect(Array.from(linesFrom(reading(bytes), 4 + long.length + 1), shown)).toEqual([
    `${5 + long.length} two true`,
  ])
})
