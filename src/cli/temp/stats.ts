import type { OptionTable } from '../../command/option.ts'
import { defineBareCommand } from '../../command/define-command.ts'
import { activityOf } from '../../sweep/inventory/activity.ts'
import { measureEntries } from '../../sweep/inventory/measure-entries.ts'
import { type MeasuredEntry, sortEntries } from '../../sweep/inventory/entry.ts'
import { readSamples } from '../../sweep/inventory/history.ts'
import { seriesOf } from '../../sweep/inventory/sparkline.ts'
import { totalsOf } from '../../sweep/inventory/totals.ts'
import { stintHome } from '../../base/fs/home.ts'
import { findRoot } from '../../scratch/index.ts'
import { budgetOf, budgetOptions } from '../budget.ts'
import { warnOfBudget } from '../budget-text.ts'
import { renderStats } from './render-stats.ts'

const options = {
  since: { type: 'duration', value: 'D', help: 'how far back the history goes (7d)' },
  ...budgetOptions,
} as const satisfies OptionTable

const defaultSinceMs = 7 * 86_400_000
const largestShown = 5
/** Points of a series: a line of a terminal. */
const points = 40

export const tempStatsCommand = defineBareCommand({
  name: 'stats',
  summary:
    'How much there is now, and what has come and gone. The history is kept by sweeps and by `temp watch`.',
  options,
  examples: [
    ['stint temp stats', 'now, and the last week'],
    ['stint temp stats --since 90d --json', 'for scripts'],
  ],
  async run({ warn }, { options }) {
    const now = Date.now()
    const since = Math.max(0, now - (options.since ?? defaultSinceMs))
    const entries = await measureEntries(now)
    const total = totalsOf(entries)
    const samples = readSamples(stintHome(), since, now)
    warnOfBudget(total, budgetOf(options), warn)
    return {
      root: findRoot()?.path ?? null,
      now: total,
      by_kind: countKinds(entries),
      largest: sortEntries(entries, 'size').slice(0, largestShown),
      since,
      history: activityOf(samples) ?? null,
      series: {
        bytes: seriesOf(samples, 'bytes_found', points),
        files: seriesOf(samples, 'files', points),
        scratches: seriesOf(samples, 'scratches', points),
        orphans: seriesOf(samples, 'orphans_found', points),
      },
    }
  },
  render: renderStats,
})

function countKinds(entries: readonly MeasuredEntry[]): Partial<Record<MeasuredEntry['kind'], number>> {
  const counts: Partial<Record<MeasuredEntry['kind'], number>> = {}
  for (const { kind } of entries) counts[kind] = (counts[kind] ?? 0) + 1
  return counts
}
