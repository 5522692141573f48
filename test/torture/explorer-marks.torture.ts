import { expect, test } from 'vitest'
import { exploreMarks, type ProcessKind } from '../support/explorer-marks.ts'

test.each<[ProcessKind[]]>([
  [['hook', 'taker', 'writer']],
  [['hook', 'releaser', 'taker']],
  [['hook', 'hook', 'taker']],
])('a call that began with a mark never runs while its session holds nothing: %s', (processes) => {
  const { states, violation, trace } = exploreMarks({ processes })
  console.log(`marks, ${processes.join()}: ${states} states`)
  expect(violation, trace?.join('\n')).toBeUndefined()
  expect(states).toBeGreaterThan(50_000)
})
