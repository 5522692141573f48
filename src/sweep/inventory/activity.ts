import type { Sample } from './sample.ts'

const dayMs = 86_400_000

/** Scratches created and removed, and bytes freed, over a stretch of the history. */
export interface Activity {
  samples: number
  /** Times of the first and the last sample, in milliseconds since the epoch. */
  from: number
  to: number
  /** Scratches created and removed: lower bounds, because some live only between two samples. */
  created: number
  removed: number
  /** The length of the files that sweeps removed, and what the disk got back; in bytes. */
  freed: number
  disk_freed: number
  created_per_day: number
  removed_per_day: number
  freed_per_day: number
  disk_freed_per_day: number
}

/** Sums up a stretch of the history; undefined without samples. */
export function summarizeActivity(samples: readonly Sample[]): Activity | undefined {
  const [first] = samples
  const last = samples.at(-1)
  if (first === undefined || last === undefined) return undefined
  let created = 0
  let removed = 0
  for (const [index, sample] of samples.entries()) {
    const before = samples[index - 1]
    if (before === undefined) {
      removed += sample.swept
      continue
    }
    // A scratch of the previous sample, or a new one, is counted now or has been removed. A sweep can also
    // have removed scratches that no sample saw.
    const gone = Math.max(sample.swept, before.scratches + sample.created - sample.scratches)
    removed += gone
    created += sample.scratches - before.scratches + gone
  }
  const sum = (field: 'freed' | 'disk_freed'): number =>
    samples.reduce((total, sample) => total + sample[field], 0)
  const [freed, diskFreed] = [sum('freed'), sum('disk_freed')]
  // A rate extrapolated from minutes would be a guess, so a stretch shorter than a day counts as a day.
  const days = Math.max(1, (last.at - first.at) / dayMs)
  const perDay = (count: number): number => Math.round((10 * count) / days) / 10
  return {
    samples: samples.length,
    from: first.at,
    to: last.at,
    created,
    removed,
    freed,
    disk_freed: diskFreed,
    created_per_day: perDay(created),
    removed_per_day: perDay(removed),
    freed_per_day: Math.round(freed / days),
    disk_freed_per_day: Math.round(diskFreed / days),
  }
}

type SeriesField = 'bytes_found' | 'disk_bytes_found' | 'files' | 'scratches' | 'orphans_found'

/** The peaks of a field in at most `points` equal steps. A step without a sample repeats the one before. */
export function peaksOverTime(samples: readonly Sample[], field: SeriesField, points: number): number[] {
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
