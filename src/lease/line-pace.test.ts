import { expect, test } from 'vitest'
import { LinePace } from './line-pace.ts'

interface Party {
  pace: LinePace
  /** When it looks next, in milliseconds. */
  at: number
}

const handOverMs = 0.6

/** Numbers between 0 and 1, the same in each run. */
function numbers(seed: number): () => number {
  let state = seed
  return () => (state = (state * 1_664_525 + 1_013_904_223) % 2 ** 32) / 2 ** 32
}

/**
 * Has parties take a claim in turn, each again and again, and returns the times from one grant to the next. A
 * party that has the claim keeps it for `handOverMs`, and once for longer, if there is a stall.
 */
function lineOf(parties: number, grants: number, seed: number, stall?: { at: number; ms: number }): number[] {
  const random = numbers(seed)
  const line: Party[] = []
  const join = (nowMs: number): void => {
    const pace = new LinePace(nowMs)
    pace.note(line.length, nowMs)
    line.push({ pace, at: nowMs + pace.pauseMs(50, random) })
  }
  for (let i = 0; i < parties; i++) join(0)
  const grantedAt: number[] = []
  let freeAt = 0
  let isHeld = false
  while (grantedAt.length < grants) {
    const at = Math.min(...line.map((party) => party.at))
    if (isHeld && freeAt <= at) {
      isHeld = false
      join(freeAt)
      continue
    }
    const places = line.findIndex((party) => party.at === at)
    const party = line[places] as Party
    party.pace.note(places, at)
    if (places > 0 || isHeld) {
      party.at = at + party.pace.pauseMs(50, random)
      continue
    }
    line.shift()
    isHeld = true
    freeAt = at + handOverMs + (grantedAt.length === stall?.at ? stall.ms : 0)
    grantedAt.push(at)
  }
  return grantedAt.slice(1).map((at, i) => at - (grantedAt[i] as number))
}

const mean = (values: readonly number[]): number => values.reduce((sum, each) => sum + each) / values.length

test.each([2, 8, 32])('%i parties that wait in line lose little time between two of them', (parties) => {
  for (const seed of [1, 2, 3]) expect(mean(lineOf(parties, 300, seed))).toBeLessThan(1.5 * handOverMs)
})

test('a line that stood still once moves as fast as before', () => {
  for (const seed of [1, 2, 3]) {
    const times = lineOf(32, 400, seed, { at: 100, ms: 300 })
    expect(mean(times.slice(200))).toBeLessThan(1.5 * handOverMs)
    expect(Math.max(...times)).toBeLessThan(600)
  }
})

test('a party that waits for 5 s looks at the line 140 times at most, one far behind 40 times', () => {
  for (const places of [0, 1, 2, 31]) {
    const pace = new LinePace(0)
    pace.note(places, 0)
    const random = numbers(places)
    let looks = 0
    for (let at = 0; at < 5000; looks++) at += pace.pauseMs(50, random)
    expect(looks).toBeLessThan(places === 31 ? 40 : 140)
  }
})
