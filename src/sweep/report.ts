import type { DiskSpace } from '../base/fs/measure-tree.ts'
import type { Removal, RemovalFailure } from '../base/fs/remove-tree.ts'
import type { EntryFacts, KeepReason, RemoveReason } from './verdict.ts'

/** What a sweep looks at. Sessions do not expire, so `sessions` is no part of `all`. */
export const sweepScopes = ['all', 'sessions'] as const
export type SweepScope = (typeof sweepScopes)[number]

/** The result of a sweep: removed and kept entries, and failures. */
export interface SweepReport {
  removed: ({ path: string; type: EntryFacts['type']; reason: RemoveReason } & DiskSpace)[]
  kept: { path: string; reason: KeepReason }[]
  failures: RemovalFailure[]
  /** The length of the removed files, in bytes. */
  bytesFreed: number
  /** What the disk has got back, in bytes: the blocks of files without another name, and of directories. */
  diskBytesFreed: number
  /** Files and directories removed, including those inside the listed entries; 0 in a dry run. */
  entriesRemoved: number
  /** False if the sweep ran out of its time budget. */
  complete: boolean
}

export const emptyReport = (): SweepReport => ({
  removed: [],
  kept: [],
  failures: [],
  bytesFreed: 0,
  diskBytesFreed: 0,
  entriesRemoved: 0,
  complete: true,
})

/** Adds the removal of one entry to the report. */
export function addToReport(
  report: SweepReport,
  entry: Omit<SweepReport['removed'][number], keyof DiskSpace>,
  { bytes, disk_bytes, removed, complete, failures }: Removal,
): void {
  report.bytesFreed += bytes
  report.diskBytesFreed += disk_bytes
  report.entriesRemoved += removed
  report.complete &&= complete
  // Not `push(...failures)`: a few hundred thousand arguments overflow the stack.
  for (const failure of failures) report.failures.push(failure)
  if (complete && failures.length === 0) report.removed.push({ ...entry, bytes, disk_bytes })
}
