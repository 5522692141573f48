import { expect, test } from 'vitest'
import type { Lane, LaneSpan } from '../protocol.ts'
import { axisTimes, extentOf, lanesIn } from './lane-scale.ts'

const scale = { from: 1_000_000, to: 1_600_000, left: 10, width: 600 }
const span = (from: number, to: number | null): LaneSpan => ({
  kind: 'held',
  from,
  to,
  paths: ['**'],
  end: to === null ? null : 'release',
  by: null,
  reason: null,
})
const lane = (session_id: string, spans: LaneSpan[], marks: Lane['marks'] = []): Lane => ({
  session_id,
  agent: null,
  purpose: null,
  spans,
  marks,
})

test('a span is drawn where its time is, cut off at both ends, and never too thin to see', () => {
  expect(extentOf(span(1_100_000, 1_200_000), scale)).toEqual({ x: 110, width: 100 })
  expect(extentOf(span(0, null), scale)).toEqual({ x: 10, width: 600 })
  expect(extentOf(span(1_300_000, 1_300_001), scale)).toEqual({ x: 310, width: 3 })
  expect(extentOf(span(0, 999_999), scale)).toBeUndefined()
})

test('the axis has full minutes', () => {
  expect(axisTimes({ ...scale, from: 59_000, to: 301_000 }, 10)).toEqual([
    60_000, 120_000, 180_000, 240_000, 300_000,
  ])
  expect(axisTimes({ ...scale, from: 0, to: 86_400_000 }, 6)).toHaveLength(7)
})

test('lanes without anything in this time are left out, and the last active session is first', () => {
  const mark = { at: 1_250_000, kind: 'refusal' as const, by: null, paths: ['**'] }
  const lanes = [
    lane('before', [span(0, 10)]),
    lane('early', [span(1_000_000, 1_100_000)]),
    lane('holds', [span(1_000_000, null)]),
    lane('refused', [], [mark]),
  ]
  expect(lanesIn(lanes, scale).map(({ session_id }) => session_id)).toEqual(['holds', 'refused', 'early'])
})
