import fc from 'fast-check'
import { expect, test } from 'vitest'
import { anyPath, anyPaths } from '../../test/support/claim-samples.ts'
import { areInConflict, covers, unionOf } from './rules.ts'

test('conflicts are symmetric, a path covers itself and everything below, and a union covers the same paths', () => {
  fc.assert(
    fc.property(anyPaths, anyPaths, anyPath, (one, two, probe) => {
      const a = { session_id: 'a', paths: one, mode: 'exclusive' } as const
      const b = { session_id: 'b', paths: two, mode: 'shared' } as const
      expect(areInConflict(a, b)).toBe(areInConflict(b, a))
      expect(covers(probe, `${probe}/x`) && covers(probe, probe) && covers('**', probe)).toBe(true)
      const both = unionOf(one, two)
      expect(both.some((each) => covers(each, probe))).toBe(
        [...one, ...two].some((each) => covers(each, probe)),
      )
      for (const each of both) expect(both.filter((other) => covers(other, each))).toEqual([each])
    }),
  )
})
