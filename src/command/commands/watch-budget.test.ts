import { expect, test } from 'vitest'
import { budgetLevel } from './watch-budget.ts'

test('use up to the limit is within budget, and near it above 80 %', () => {
  const level = (bytes: number, files: number) =>
    budgetLevel({ bytes, disk_bytes: 0, files }, { maxBytes: 100, maxFiles: 10 })
  expect([level(80, 8), level(81, 0), level(0, 9), level(100, 10), level(101, 0), level(0, 11)]).toEqual([
    'within',
    'near',
    'near',
    'near',
    'over',
    'over',
  ])
  const none = { maxBytes: 0, maxFiles: undefined }
  const sizes = [
    { bytes: 0, disk_bytes: 0, files: 9 },
    { bytes: 1, disk_bytes: 0, files: 0 },
    { bytes: 0, disk_bytes: 1, files: 0 },
  ]
  expect(sizes.map((size) => budgetLevel(size, none))).toEqual(['within', 'over', 'over'])
})
