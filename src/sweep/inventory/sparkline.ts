import type { Sample } from './sample.ts'

const bars = '▁▂▃▄▅▆▇█'

/** A row of small bars, the highest for the largest value; no bar is below zero. */
export function sparkline(values: readonly number[]): string {
  const top = Math.max(0, ...values)
  const bar = (value: number): string =>
    bars.charAt(top === 0 ? 0 : Math.round((Math.max(0, value) / top) * (bars.length - 1)))
  return values.map(bar).join('')
}

type Field = 'bytes_found' | 'files' | 'scratches' | 'orphans_found'

/** A field over time, in at most `points` steps of equal length: the peak of each; where there was no sample, what was so before. */
export function seriesOf(samples: readonly Sample[], field: Field, points: number): number[] {
  const [first] = samples
  const last = samples.at(-1)
  if (first === undefined || last === undefined) return []
  const width = Math.min(points, samples.length)
  const span = Math.max(1, last.at - first.at)
  const peaks: (number | undefined)[] = Array.from({ length: width })
  for (const sample of samples) {
    const step = Math.min(width - 1, Math.floor(((sample.at - first.at) / span) * width))
    peaks[step] = Math.max(peaks[step] ?? 0, sample[field])
  }
  let before = 0
  return peaks.map((peak) => (before = peak ?? before))
}
