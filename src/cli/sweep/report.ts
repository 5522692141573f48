import { formatBytes } from '../../base/text/size.ts'
import { StintError } from '../../base/errors/stint-error.ts'
import { visibleText } from '../../base/text/escape.ts'
import type { SweepReport } from '../../sweep/report.ts'
import { type SweepTally, tallyReport } from '../../sweep/tally.ts'

/** What the envelope of `stint sweep` has as `data`. */
export interface SweepData extends Pick<SweepReport, 'removed' | 'kept' | 'failures'> {
  dry_run: boolean
  bytes_freed: number
}

export const sweepData = (report: SweepReport, dryRun: boolean): SweepData => ({
  dry_run: dryRun,
  removed: report.removed,
  kept: report.kept,
  failures: report.failures,
  bytes_freed: report.bytesFreed,
})

/** How many lines a person is shown of each kind; the envelope has all. */
const shownEntries = 20

/** What stays for a reason that somebody may want to look into. */
const oddReasons = new Set(['foreign-owner', 'symlink', 'not-stint', 'ownerless', 'owner-unknown'])

/** What a person reads: the largest that went, what is odd about what stayed, and the sums. */
export function renderSweep(data: SweepData): string {
  const { dry_run, removed, kept, bytes_freed } = data
  const sums = tallyReport({ ...data, bytesFreed: bytes_freed })
  const largest = [...removed].sort((a, b) => b.bytes - a.bytes)
  const odd = kept.filter(({ reason }) => oddReasons.has(reason))
  return [
    ...shorten(largest.map(({ path, bytes, reason }) => [formatBytes(bytes), reason, path])),
    `${dry_run ? 'would remove' : 'removed'} ${removed.length}, ${formatBytes(bytes_freed)}${byReason(sums.removed_by)}`,
    ...shorten(odd.map(({ path, reason }) => ['kept', reason, path])),
    `kept ${kept.length}${byReason(sums.kept_by)}`,
  ].join('\n')
}

function shorten(rows: readonly (readonly [string, string, string])[]): string[] {
  const shown = rows.slice(0, shownEntries)
  const widths = [0, 1].map((column) => Math.max(0, ...shown.map((row) => row[column]?.length ?? 0)))
  const lines = shown.map(
    ([first, reason, path]) =>
      `  ${first.padStart(widths[0] ?? 0)}  ${reason.padEnd(widths[1] ?? 0)}  ${visibleText(path)}`,
  )
  return rows.length > shown.length
    ? [...lines, `  … and ${rows.length - shown.length} more (--json lists them all)`]
    : lines
}

const byReason = (counts: SweepTally['removed_by']): string => {
  const parts = Object.entries(counts)
    .sort(([, a], [, b]) => b - a)
    .map(([reason, count]) => `${count} ${reason}`)
  return parts.length === 0 ? '' : ` (${parts.join(', ')})`
}

const namedFailures = 5

/** What could not be removed; in the envelope, `data` has all of it. */
export function sweepFailure(data: SweepData): StintError {
  const { failures, removed, bytes_freed } = data
  const named = failures.slice(0, namedFailures).map(({ path, error }) => `${visibleText(path)} (${error})`)
  const more = failures.length > named.length ? ` and ${failures.length - named.length} more` : ''
  const done = `removed ${removed.length}, ${formatBytes(bytes_freed)}`
  return new StintError('PARTIAL_FAILURE', `${done}, but could not remove ${named.join(', ')}${more}`, {
    data,
    detail: `removed=${removed.length} failures=${failures.length}`,
    phase: 'cleanup',
  })
}
