import type { SweepReport } from './report.ts'

/** What a sweep did, in numbers: for whoever counts over time, and for a person who has no use for ten thousand lines. */
export interface SweepTally {
  removed: number
  kept: number
  failures: number
  bytes_freed: number
  /** How many went, and stayed, for each reason. */
  removed_by: Record<string, number>
  kept_by: Record<string, number>
}

export const tallyReport = (
  report: Pick<SweepReport, 'removed' | 'kept' | 'failures' | 'bytesFreed'>,
): SweepTally => ({
  removed: report.removed.length,
  kept: report.kept.length,
  failures: report.failures.length,
  bytes_freed: report.bytesFreed,
  removed_by: countReasons(report.removed),
  kept_by: countReasons(report.kept),
})

function countReasons(entries: readonly { reason: string }[]): Record<string, number> {
  const counts: Record<string, number> = {}
  for (const { reason } of entries) counts[reason] = (counts[reason] ?? 0) + 1
  return counts
}
