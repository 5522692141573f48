import { expect, test } from 'vitest'
import { exploreMarks, type ProcessKind } from '../support/explorer-marks.ts'

test.each<[ProcessKind[]]>([
  [['hook', 'taker', 'writer']],
  [['hook', 'script', 'taker']],
  [['script', 'script', 'script', 'taker']],
  [['script', 'script', 'taker', 'releaser']],
])('a call that began with a mark never runs while its session holds nothing: %s', (processes) => {
  const { states, violation, trace } = exploreMarks({ processes })
  console.log(`marks, ${processes.join()}: ${states} states`)
  expect(violation, trace?.join('\n')).toBeUndefined()
  expect(states).toBeGreaterThan(90_000)
})
