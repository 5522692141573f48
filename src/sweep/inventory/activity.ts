import type { Sample } from './sample.ts'

const dayMs = 86_400_000

/** What has come and gone over a stretch of the history. */
export interface Activity {
  samples: number
  /** Times of the first and the last sample. */
  from: number
  to: number
  /** Scratches made and removed: at least so many, since what lived between two samples only has been seen by nobody. */
  created: number
  removed: number
  /** Bytes freed by sweeps. */
  freed: number
  created_per_day: number
  removed_per_day: number
  freed_per_day: number
}

/** Undefined without samples: there is nothing to tell. */
export function activityOf(samples: readonly Sample[]): Activity | undefined {
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
    // What was there, and what is new, is there now or has gone; a sweep knows of some that nobody has seen come.
    const gone = Math.max(sample.swept, before.scratches + sample.created - sample.scratches)
    removed += gone
    created += sample.scratches - before.scratches + gone
  }
  const freed = samples.reduce((sum, sample) => sum + sample.freed, 0)
  // A rate from a few minutes would be a guess: what is shorter than a day counts as one.
  const days = Math.max(1, (last.at - first.at) / dayMs)
  const perDay = (count: number): number => Math.round((10 * count) / days) / 10
  return {
    samples: samples.length,
    from: first.at,
    to: last.at,
    created,
    removed,
    freed,
    created_per_day: perDay(created),
    removed_per_day: perDay(removed),
    freed_per_day: Math.round(freed / days),
  }
}
