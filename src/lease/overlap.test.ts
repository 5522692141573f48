import fc from 'fast-check'
import { expect, test } from 'vitest'
import { anyPath, anyPaths } from '../../test/support/claim-samples.ts'
import { covers, pathsOverlap, union } from './overlap.ts'

test('overlap is symmetric, a path covers itself and what is below it, and a union says the same in fewer words', () => {
  fc.assert(
    fc.property(anyPaths, anyPaths, anyPath, (one, two, probe) => {
      expect(pathsOverlap(one, two)).toBe(pathsOverlap(two, one))
      expect(covers(probe, `${probe}/x`) && covers(probe, probe) && covers('**', probe)).toBe(true)
      const both = union(one, two)
      expect(both.some((each) => covers(each, probe))).toBe(
        [...one, ...two].some((each) => covers(each, probe)),
      )
      for (const each of both) expect(both.filter((other) => covers(other, each))).toEqual([each])
    }),
  )
})
