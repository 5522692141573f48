import fc from 'fast-check'
import { expect, test } from 'vitest'
import { rowsInView, scrollHeightOf, scrollTopOf } from './scroll-window.ts'

const scroller = (rows: number) => ({ rowHeight: 36, viewHeight: 720, rows })

test('a million rows fit into what browsers can scroll, and both ends can be reached', () => {
  const long = scroller(1_000_000)
  const height = scrollHeightOf(long)
  expect(height).toBeLessThan(17_000_000)
  expect(rowsInView(0, long)).toMatchObject({ first: 0, offset: 0 })
  expect(rowsInView(height - 720, long).end).toBe(1_000_000)
})

test('however far it is scrolled, the rows cover the view and are few', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 0, max: 2_000_000 }),
      fc.double({ min: -10, max: 2e7, noNaN: true }),
      (rows, top) => {
        const { first, end, offset } = rowsInView(top, scroller(rows))
        expect(end - first).toBeLessThanOrEqual(26)
        expect(offset).toBeLessThanOrEqual(0)
        expect(offset + (end - first) * 36).toBeGreaterThanOrEqual(Math.min(720, rows * 36) - 1e-3)
      },
    ),
  )
})

test('scrolling to a row shows it', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 2_000_000 }), fc.nat(), (rows, number) => {
      const row = number % rows
      const { first, end } = rowsInView(scrollTopOf(row, scroller(rows)), scroller(rows))
      expect(first <= row && row < end).toBe(true)
    }),
  )
})
