import { expect, test } from 'vitest'
import { warn } from './check.ts'
import { judgeOrphans } from './orphans.ts'

test('orphans are counted, with their size or its lower bound', () => {
  expect(judgeOrphans({ count: 0, bytes: 0, disk_bytes: 0, files: 0, partial: false }).level).toBe('ok')
  const one = { count: 1, bytes: 300, disk_bytes: 4096, files: 1, partial: true }
  expect(judgeOrphans(one)).toEqual(
    warn('orphans', 'dead runs have left 1 entry, at least 4.0 KiB', 'stint sweep'),
  )
  expect(judgeOrphans({ ...one, disk_bytes: 1 << 20 }).text).toMatch(/at least 1\.0 MiB for 300 B of data$/)
})
