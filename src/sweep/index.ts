/**
 * The door of the sweep: removing what dead runs left behind, and the inventory of what is there.
 *
 * Every run loads this module for `sweepAtStart`; the other functions load their part when they are called.
 */
import type { SweepReport } from './report.ts'
import type { SweepOptions } from './sweep.ts'

export {
  type EntryTotals,
  type MeasuredEntry,
  sortEntries,
  sumEntries,
  type TempEntry,
} from './inventory/entry.ts'
export type { HistorySummary } from './inventory/history.ts'
export type { TracedPath } from './inventory/trace-path.ts'
export { addToReport, type SweepReport, type SweepScope, sweepScopes } from './report.ts'
export { sweepAtStart } from './sweep-at-start.ts'
export type { SweepOptions, SweepProgress } from './sweep.ts'

/** Calls a function of a module that is loaded only then. */
const lazily =
  <Args extends unknown[], Result>(load: () => Promise<(...args: Args) => Result>) =>
  async (...args: Args): Promise<Awaited<Result>> => {
    const call = await load()
    return await call(...args)
  }

/**
 * Removes what dead runs left behind, giving way to the event loop.
 *
 * @example
 * const { removed, diskBytesFreed } = await sweep({ dryRun: true })
 */
export const sweep: (options?: SweepOptions) => Promise<SweepReport> = lazily(
  async () => (await import('./sweep.ts')).sweep,
)

/** Lists and measures everything in this user's root. */
export const measureEntries = lazily(async () => (await import('./inventory/index.ts')).measureEntries)

/** Finds out which run made a path. */
export const tracePath = lazily(async () => (await import('./inventory/index.ts')).tracePath)

/** Sums up what sweeps have found and removed. */
export const summarizeHistory = lazily(async () => (await import('./inventory/index.ts')).summarizeHistory)

/** Adds a sweep to the history. */
export const recordSweep = lazily(async () => (await import('./inventory/index.ts')).recordSweep)
