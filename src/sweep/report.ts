import type { Removal, RemovalFailure } from '../base/fs/remove-tree.ts'
import type { EntryFacts, KeepReason, RemoveReason } from './verdict.ts'

/** What a sweep has done, and what it has left. */
export interface SweepReport {
  removed: { path: string; type: EntryFacts['type']; bytes: number; reason: RemoveReason }[]
  kept: { path: string; reason: KeepReason }[]
  failures: RemovalFailure[]
  bytesFreed: number
  /** Files and directories that went, also those inside of what is listed; 0 in a dry run. */
  entriesRemoved: number
  /** False if the budget ended it. */
  complete: boolean
}

export const emptyReport = (): SweepReport => ({
  removed: [],
  kept: [],
  failures: [],
  bytesFreed: 0,
  entriesRemoved: 0,
  complete: true,
})

/** Adds what became of one entry to the report. */
export function addToReport(
  report: SweepReport,
  entry: Omit<SweepReport['removed'][number], 'bytes'>,
  { bytes, removed, complete, failures }: Removal,
): void {
  report.bytesFreed += bytes
  report.entriesRemoved += removed
  report.complete &&= complete
  // One at a time: as arguments of a call, a few hundred thousand are too many.
  for (const failure of failures) report.failures.push(failure)
  if (complete && failures.length === 0) report.removed.push({ ...entry, bytes })
}
