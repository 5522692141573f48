/** The points of a line in a drawing of 1000 by 100: time to the right, the value upwards from 0. */
export function pointsOf(samples: readonly { at: number; value: number }[]): string {
  const from = samples[0]?.at ?? 0
  const length = Math.max(1, (samples.at(-1)?.at ?? 0) - from)
  const most = Math.max(1, ...samples.map(({ value }) => value))
  return samples
    .map(
      ({ at, value }) => `${rounded(((at - from) / length) * 1000)},${rounded(100 - (value / most) * 100)}`,
    )
    .join(' ')
}

/** The area below a line. */
export const areaOf = (points: string): string => `0,100 ${points} 1000,100`

const rounded = (value: number): number => Math.round(value * 10) / 10
