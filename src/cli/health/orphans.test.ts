import { expect, test } from 'vitest'
import { warn } from './check.ts'
import { judgeOrphans } from './orphans.ts'

test('orphans are counted, with their size or its lower bound', () => {
  expect(judgeOrphans({ count: 0, bytes: 0, files: 0, partial: false }).level).toBe('ok')
  expect(judgeOrphans({ count: 1, bytes: 2048, files: 1, partial: true })).toEqual(
    warn('orphans', 'dead runs have left 1 entry, at least 2.0 KiB', 'stint sweep'),
  )
})
