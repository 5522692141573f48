import fc from 'fast-check'
import { expect, test } from 'vitest'
import { rowsInView, type Scroller, scrollHeightOf, scrollTopOf } from './scroll-window.ts'

/** Groups of one row, but for those whose number a divisor divides. */
const scroller = (groups: number, every = 0, size = 1): Scroller => {
  const sizeOf = (group: number): number => (every > 0 && group % every === 0 ? size : 1)
  const large = every === 0 ? 0 : Math.ceil(groups / every)
  const rows = groups + large * (size - 1)
  return { rowHeight: 36, viewHeight: 720, groups, rows, sizeOf, isExact: groups <= 1200 }
}

const anyScroller = fc
  .tuple(
    fc.integer({ min: 1, max: 2_000_000 }),
    fc.integer({ min: 0, max: 200 }),
    fc.integer({ min: 1, max: 300 }),
  )
  .map(([groups, every, size]) => scroller(groups, every, size))

test('a million records fit into what browsers can scroll, and both ends can be reached', () => {
  const long = scroller(1_000_000, 7, 3)
  const height = scrollHeightOf(long)
  expect(height).toBeLessThan(17_000_000)
  expect(rowsInView(0, long)[0]).toEqual({ group: 0, row: 0, top: 0 })
  expect(rowsInView(height - 720, long).at(-1)).toMatchObject({ group: 999_999, top: 720 - 36 })
})

test('in a list of known length, a pixel of scrolling is a pixel', () => {
  const short = scroller(100, 10, 20)
  const topOf = (scrollTop: number): number | undefined =>
    rowsInView(scrollTop, short).find(({ group, row }) => group === 20 && row === 3)?.top
  expect(topOf(2000)).toBeDefined()
  expect((topOf(2000) ?? 0) - (topOf(2010) ?? 0)).toBeCloseTo(10)
})

test('however far it is scrolled, the rows cover the view without a gap, and are few', () => {
  fc.assert(
    fc.property(anyScroller, fc.double({ min: -10, max: 2e7, noNaN: true }), (each, scrollTop) => {
      const rows = rowsInView(scrollTop, each)
      const [first, last] = [rows[0], rows.at(-1)]
      expect(rows.length).toBeLessThanOrEqual(26)
      expect(first?.top).toBeLessThanOrEqual(1e-3)
      expect((last?.top ?? 0) + 36).toBeGreaterThanOrEqual(Math.min(720, each.rows * 36) - 1e-3)
      for (const [index, { top }] of rows.entries())
        expect(top).toBeCloseTo((first?.top ?? 0) + index * 36, 3)
    }),
  )
})

test('scrolling to a record shows it', () => {
  fc.assert(
    fc.property(anyScroller, fc.nat(), (each, number) => {
      const group = number % each.groups
      const rows = rowsInView(scrollTopOf(group, 0, each), each)
      const found = rows.find((row) => row.group === group && row.row === 0)
      expect(found?.top).toBeGreaterThan(-36)
      expect(found?.top).toBeLessThan(720)
    }),
  )
})
