export interface Sampled {
  at: number
  /** Null if it was not measured. */
  value: number | null
}

/** The times from the left to the right edge of a drawing of 1000 by 100, and the value at its top. */
export interface SampleScale {
  from: number
  to: number
  most: number
}

/** The points of a line: time to the right, the value upwards from 0. A value that is missing has none. */
export function pointsOf(samples: readonly Sampled[], { from, to, most }: SampleScale): string {
  const x = (at: number): number => rounded(((at - from) / Math.max(1, to - from)) * 1000)
  const y = (value: number): number => rounded(100 - (value / Math.max(1, most)) * 100)
  return samples.flatMap(({ at, value }) => (value === null ? [] : `${x(at)},${y(value)}`)).join(' ')
}

const rounded = (value: number): number => Math.round(value * 10) / 10
