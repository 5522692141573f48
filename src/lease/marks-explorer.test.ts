import { expect, test } from 'vitest'
import { exploreMarks, type MarkMutation, type ProcessKind } from '../../test/support/explorer-marks.ts'

test.each<[ProcessKind[]]>([
  [['hook', 'taker']],
  [['hook', 'releaser']],
  [['script', 'script', 'taker']],
  [['script', 'script', 'taker', 'writer']],
])('a call that began with a mark never runs while its session holds nothing: %s', (processes) => {
  const { states, violation, trace } = exploreMarks({ processes })
  console.log(`marks, ${processes.join()}: ${states} states`)
  expect(violation, trace?.join('\n')).toBeUndefined()
  expect(states).toBeGreaterThan(500)
})

const mutations: readonly MarkMutation[] = [
  'looking before marking',
  'no closing swap',
  'reading the marks only before the closing swap',
  'probing two epochs instead of listing',
  'compacting the newest first',
]

test.each(mutations)('the explorer finds the fault of marks with: %s', (mutation) => {
  const writers: ProcessKind[] = mutation === 'probing two epochs instead of listing' ? ['writer'] : []
  for (const hooks of [['hook'], ['script', 'script']] as const) {
    const { states, violation } = exploreMarks({ processes: [...hooks, 'taker', ...writers], mutation })
    console.log(`${mutation}, ${hooks.join()}: after ${states} states: ${violation}`)
    expect(violation).toMatch(/^call [hs]0 runs, and b holds the workspace$/)
  }
})
