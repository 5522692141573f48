import { expect, test } from 'vitest'
import { sparkline } from './stats.ts'

test('a sparkline has one bar per value, the highest for the largest', () => {
  expect(sparkline([0, 1, 2, 3, 4, 5, 6, 7])).toBe('▁▂▃▄▅▆▇█')
  expect(sparkline([0, 0])).toBe('▁▁')
  expect(sparkline([])).toBe('')
})
