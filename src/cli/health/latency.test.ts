import { expect, test } from 'vitest'
import { percentile, slowReasons } from './latency.ts'

const times = (p50_ms: number) => ({ p50_ms, p95_ms: p50_ms, runs: 20 })

test('a percentile is the sample that this part of all samples do not exceed', () => {
  const samples = Array.from({ length: 100 }, (_, index) => 100 - index)
  expect([0.5, 0.95, 1].map((part) => percentile(samples, part))).toEqual([50, 95, 100])
  expect([percentile([7], 0.5), percentile([7], 0.95), percentile([], 0.5)]).toEqual([7, 7, 0])
})

test('a fast start on an idle machine has no reasons', () => {
  expect(slowReasons({ node: times(40), withVariable: { NODE_OPTIONS: times(44) } }, 0.5, 2)).toEqual([])
})

test('each cause of a slow start is named', () => {
  const withVariable = { NODE_EXTRA_CA_CERTS: times(215), NODE_OPTIONS: times(160) }
  const reasons = slowReasons({ node: times(150), withVariable }, 9, 2).map(({ reason }) => reason)
  expect(reasons).toEqual([
    'NODE_OPTIONS costs every start of node 10 ms here',
    'NODE_EXTRA_CA_CERTS costs every start of node 65 ms here',
    'the machine is busy: a load of 9.0 on 2 cores',
    'an empty node takes 150 ms to start here',
  ])
})
