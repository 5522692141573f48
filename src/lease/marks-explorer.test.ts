import { expect, test } from 'vitest'
import { exploreMarks, type MarkMutation, type ProcessKind } from '../../test/support/explorer-marks.ts'

test.each<[ProcessKind[]]>([[['hook', 'taker']], [['hook', 'releaser']]])(
  'a call that began with a mark never runs while its session holds nothing: %s',
  (processes) => {
    const { states, violation, trace } = exploreMarks({ processes })
    console.log(`marks, ${processes.join()}: ${states} states`)
    expect(violation, trace?.join('\n')).toBeUndefined()
    expect(states).toBeGreaterThan(500)
  },
)

test.each<[MarkMutation, ProcessKind[]]>([
  ['looking before marking', ['hook', 'taker']],
  ['no closing swap', ['hook', 'taker']],
  ['reading the marks only before the closing swap', ['hook', 'taker']],
  ['probing two epochs instead of listing', ['hook', 'taker', 'writer']],
  ['compacting the newest first', ['hook', 'taker']],
])('the explorer finds the fault of marks with: %s', (mutation, processes) => {
  const { states, violation } = exploreMarks({ processes, mutation })
  console.log(`${mutation}: after ${states} states: ${violation}`)
  expect(violation).toMatch(/^call h0 runs, and b holds the workspace$/)
})
