// Rounds and statistics. A sample is a cost: nanoseconds for one operation, so less is better.

/**
 * Runs one bench: set up, check that every contender does the real thing, warm up, measure, judge.
 * One round has one sample of every contender; ratios are taken within a round, where all of them met the
 * same machine.
 */
export async function measure(bench, parts, { rounds, onRound = () => {} }) {
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
    return judge(bench, taken)
  } finally {
    await bench.teardown?.(state)
  }
}

/** One sample of each contender, by name. */
async function sampleRound({ contenders }, state, round) {
  const samples = {}
  for (const index of orderOf(contenders.length, round)) {
    const contender = contenders[index]
    samples[contender.name] = await contender.run(state)
  }
  return samples
}

/** Forwards, then backwards, then the same from the next one on: nobody is always first, or after the same one. */
export function orderOf(count, round) {
  const rotated = Array.from({ length: count }, (_, index) => (index + (round >> 1)) % count)
  return round % 2 === 0 ? rotated : rotated.toReversed()
}

/** The result of a bench from its rounds, each `{ [contender]: cost }`. */
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

/** The subject's cost as a multiple of this contender's, round by round, and whether that is what we want. */
function comparison(name, subject, targets, rounds) {
  if (name === subject) return {}
  const ratio = spread(rounds.map((round) => round[subject] / round[name]))
  const target = targets.find(({ against }) => against === name)
  return target === undefined ? { ratio } : { ratio, target, met: isMet(target, ratio.median) }
}

/** `atMost: 1.5` the cost of the other, or `faster: 1.3` times as fast (`faster: 1`: faster at all). */
export function isMet({ atMost, faster }, ratio) {
  if (atMost !== undefined) return ratio <= atMost
  return faster === 1 ? ratio < 1 : 1 / ratio >= faster
}

export function spread(values) {
  const sorted = [...values].sort((a, b) => a - b)
  return { median: quantile(sorted, 0.5), p10: quantile(sorted, 0.1), p90: quantile(sorted, 0.9) }
}

/** Of sorted values, linear between the two nearest. */
export function quantile(sorted, share) {
  const at = (sorted.length - 1) * share
  const below = sorted[Math.floor(at)]
  const above = sorted[Math.ceil(at)]
  return below + (above - below) * (at - Math.floor(at))
}

/** Nanoseconds for one of `count` calls, after one that is not counted: it may have a directory to make. */
export function costOf(count, act) {
  act()
  const start = process.hrtime.bigint()
  for (let done = 0; done < count; done++) act()
  return Number(process.hrtime.bigint() - start) / count
}

/** The same for what returns a promise; one call at a time. */
export async function costOfAsync(count, act) {
  await act()
  const start = process.hrtime.bigint()
  for (let done = 0; done < count; done++) await act()
  return Number(process.hrtime.bigint() - start) / count
}
