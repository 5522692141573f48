// Rounds and statistics. A sample is a cost in nanoseconds an operation: less is better.
import { loadavg } from 'node:os'

/**
 * Runs one bench: sets it up, checks that every contender does the real work, warms up, measures and judges.
 * A round has one sample of every contender. Ratios are taken within a round, in which the machine was
 * equally busy for all.
 */
export async function measure(bench, parts, { rounds, onRound = () => {} }) {
  const load = loadavg()[0]
  const state = (await bench.setup?.(parts)) ?? parts
  try {
    for (const contender of bench.contenders) await contender.check(state)
    for (let round = 0; round < (bench.warmUp ?? 1); round++) await sampleRound(bench, state, round)
    const taken = []
    for (let round = 0; round < rounds; round++) {
      onRound(bench, round, rounds)
      taken.push(await sampleRound(bench, state, round))
    }
    onRound(bench, rounds, rounds)
    return { ...judge(bench, taken), load, notes: bench.notes?.(state) ?? [] }
  } finally {
    await bench.teardown?.(state)
  }
}

/** Takes one sample of each contender; returns them by name. */
async function sampleRound({ contenders }, state, round) {
  const samples = {}
  for (const index of orderOf(contenders.length, round)) {
    const contender = contenders[index]
    samples[contender.name] = await contender.run(state)
  }
  return samples
}

/**
 * Forwards, then backwards, then both from the next contender on: none is always first or after the same one.
 */
export function orderOf(count, round) {
  const rotated = Array.from({ length: count }, (_, index) => (index + (round >> 1)) % count)
  return round % 2 === 0 ? rotated : rotated.toReversed()
}

/** Computes the result of a bench from its rounds, each `{ [contender]: cost }`. */
export function judge({ name, about, unit, subject, contenders, targets }, rounds) {
  return {
    name,
    about,
    unit,
    subject,
    rounds: rounds.length,
    contenders: contenders.map((contender) => ({
      name: contender.name,
      floor: contender.floor ?? false,
      cost: spread(rounds.map((round) => round[contender.name])),
      ...comparison(contender.name, subject, targets, rounds),
      samples: rounds.map((round) => round[contender.name]),
    })),
  }
}

/** The subject's cost as a multiple of this contender's, round by round, and whether it meets the target. */
function comparison(name, subject, targets, rounds) {
  if (name === subject) return {}
  const ratio = spread(rounds.map((round) => round[subject] / round[name]))
  const target = targets.find(({ against }) => against === name)
  return target === undefined ? { ratio } : { ratio, target, met: isMet(target, ratio.median) }
}

/**
 * `atMost: 1.5` times the other's cost, or `faster: 1.3` times as fast (`faster: 1`: faster by any amount).
 */
export function isMet({ atMost, faster }, ratio) {
  if (atMost !== undefined) return ratio <= atMost
  return faster === 1 ? ratio < 1 : 1 / ratio >= faster
}

export function spread(values) {
  const sorted = [...values].sort((a, b) => a - b)
  return { median: quantile(sorted, 0.5), p10: quantile(sorted, 0.1), p90: quantile(sorted, 0.9) }
}

/** A quantile of sorted values, interpolated linearly. */
export function quantile(sorted, share) {
  const at = (sorted.length - 1) * share
  const below = sorted[Math.floor(at)]
  const above = sorted[Math.ceil(at)]
  return below + (above - below) * (at - Math.floor(at))
}

/** Nanoseconds a call over `count` calls, after one that does not count: it may create directories. */
export function costOf(count, act) {
  act()
  const start = process.hrtime.bigint()
  for (let done = 0; done < count; done++) act()
  return Number(process.hrtime.bigint() - start) / count
}

/** Nanoseconds a call like `costOf`, for a function that returns a promise; one call at a time. */
export async function costOfAsync(count, act) {
  await act()
  const start = process.hrtime.bigint()
  for (let done = 0; done < count; done++) await act()
  return Number(process.hrtime.bigint() - start) / count
}
