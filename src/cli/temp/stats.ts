import { formatBytes } from '../../base/text/size.ts'
import { defineBareCommand } from '../../command/define-command.ts'
import type { Screen } from '../../command/stdio.ts'
import { findRoot } from '../../scratch/index.ts'
import {
  type Activity,
  type EntryTotals,
  type History,
  type MeasuredEntry,
  measureEntries,
  readHistory,
  sortEntries,
  sumEntries,
} from '../../sweep/index.ts'
import { budgetOptions, readBudget, warnOfBudget } from '../budget.ts'
import { showWork } from '../terminal/progress.ts'
import { formatAge, formatSpace, plural } from '../text/format.ts'
import { renderEntries } from './render-entries.ts'

export const defaultSinceMs = 7 * 86_400_000
const largestShown = 5
/** Points of a series, so that its sparkline fits into a line of a terminal. */
const seriesPoints = 40

interface StatsData {
  root: string | null
  now: EntryTotals
  by_kind: Partial<Record<MeasuredEntry['kind'], number>>
  largest: MeasuredEntry[]
  since: number
  history: Activity | null
  series: History['series']
}

export const tempStatsCommand = defineBareCommand({
  name: 'stats',
  summary:
    'How much there is now, and what has come and gone. The history is kept by sweeps and by `temp watch`.',
  options: {
    since: { type: 'duration', value: 'D', help: 'how far back the history goes (7d)' },
    ...budgetOptions,
  },
  examples: [
    ['stint temp stats', 'now, and the last week'],
    ['stint temp stats --since 90d --json', 'for scripts'],
  ],
  async run(context, { options }): Promise<StatsData> {
    const now = Date.now()
    const since = Math.max(0, now - (options.since ?? defaultSinceMs))
    const data = await showWork('measuring', context, () => gatherStats(now, since))
    warnOfBudget(data.now, readBudget(options), context.warn)
    return data
  },
  render: renderStats,
})

/** Measures the temp directory, and reads its history since a time. */
export async function gatherStats(now: number, since: number): Promise<StatsData> {
  const entries = await measureEntries(now)
  const { activity, series } = await readHistory(since, now, seriesPoints)
  return {
    root: findRoot()?.path ?? null,
    now: sumEntries(entries),
    by_kind: countKinds(entries),
    largest: sortEntries(entries, 'size').slice(0, largestShown),
    since,
    history: activity ?? null,
    series,
  }
}

function countKinds(entries: readonly MeasuredEntry[]): StatsData['by_kind'] {
  const counts: StatsData['by_kind'] = {}
  for (const { kind } of entries) counts[kind] = (counts[kind] ?? 0) + 1
  return counts
}

function renderStats(data: StatsData, { columns }: Screen): string {
  const { root, now, by_kind, largest, history, series } = data
  const kinds = Object.entries(by_kind).map(([kind, count]) => `${count} ${kind}`)
  return [
    `now: ${formatSpace(now)} in ${plural(now.files, 'file')}; ${kinds.join(', ') || 'nothing'}`,
    `     ${now.live} live, ${plural(now.orphans, 'orphan')}`,
    ...(largest.length === 0 ? [] : ['', 'largest:', ...renderEntries(largest, root ?? '/', columns)]),
    '',
    ...(history === null
      ? ['no history yet: `stint sweep` and `stint temp watch` write it']
      : [...renderActivity(history), ...renderSeries(series)]),
  ].join('\n')
}

const renderActivity = (history: Activity): string[] => [
  `history: ${plural(history.samples, 'sample')} over ${formatAge(history.to - history.from)}`,
  `  made     ${plural(history.created, 'scratch', 'scratches')}, ${history.created_per_day} a day`,
  `  removed  ${plural(history.removed, 'scratch', 'scratches')}, ${history.removed_per_day} a day`,
  `  freed    ${formatBytes(history.disk_freed)} by sweeps, ${formatBytes(history.disk_freed_per_day)} a day`,
]

function renderSeries(series: StatsData['series']): string[] {
  const { disk_bytes: disk, bytes: _, ...counts } = series
  return Object.entries({ disk, ...counts }).map(([name, values]) => {
    const top = Math.max(0, ...values)
    return `  ${name.padEnd(9)} ${sparkline(values)}  at most ${name === 'disk' ? formatBytes(top) : top}`
  })
}

const bars = '▁▂▃▄▅▆▇█'

/** Draws a row of bars, the highest for the largest value. Values below zero have the lowest bar. */
export function sparkline(values: readonly number[]): string {
  const top = Math.max(0, ...values)
  const bar = (value: number): string =>
    bars.charAt(top === 0 ? 0 : Math.round((Math.max(0, value) / top) * (bars.length - 1)))
  return values.map(bar).join('')
}
