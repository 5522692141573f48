import { expect, test } from 'vitest'
import { exploreMarks } from '../support/explorer-marks.ts'

test('a call that began with a mark never runs while its session holds nothing: beside a taker and a slow writer', () => {
  const { states, violation, trace } = exploreMarks({ processes: ['hook', 'taker', 'writer'] })
  console.log(`marks, with a slow writer: ${states} states`)
  expect(violation, trace?.join('\n')).toBeUndefined()
  expect(states).toBeGreaterThan(100_000)
})
