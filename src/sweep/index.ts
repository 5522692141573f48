/** The door of the sweep: removing what dead runs left behind, and the inventory of what is there. */
import type { SweepReport } from './remove-entry.ts'
import type { SweepOptions } from './sweep.ts'

export { type HistorySummary, recordSweep, summarizeHistory } from './history.ts'
export {
  type EntryTotals,
  type MeasuredEntry,
  measureEntries,
  renderOwner,
  sortEntries,
  sumEntries,
  type TempEntry,
} from './inventory.ts'
export { addToReport, type SweepReport } from './remove-entry.ts'
export { sweepAtStart } from './sweep-at-start.ts'
export { type SweepScope, sweepScopes } from './swept-directories.ts'
export type { SweepOptions, SweepProgress } from './sweep.ts'
export { type TracedPath, tracePath } from './trace-path.ts'
export type { KeepReason, RemoveReason } from './verdict.ts'

/**
 * Removes what dead runs left behind, giving way to the event loop.
 *
 * @example
 * const { removed, diskBytesFreed } = await sweep({ dryRun: true })
 */
export async function sweep(options?: SweepOptions): Promise<SweepReport> {
  return await (await import('./sweep.ts')).sweep(options)
}
