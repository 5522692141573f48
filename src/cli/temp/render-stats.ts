import type { Activity } from '../../sweep/inventory/activity.ts'
import type { MeasuredEntry } from '../../sweep/inventory/entry.ts'
import { sparkline } from '../../sweep/inventory/sparkline.ts'
import type { EntryTotals } from '../../sweep/inventory/totals.ts'
import { formatBytes } from '../../base/text/size.ts'
import { formatAge, plural } from '../text/format.ts'
import { renderEntries } from './describe.ts'

/** What `stint temp stats` answers. */
export interface StatsData {
  root: string | null
  now: EntryTotals
  by_kind: Partial<Record<MeasuredEntry['kind'], number>>
  largest: MeasuredEntry[]
  since: number
  history: Activity | null
  series: Record<'bytes' | 'files' | 'scratches' | 'orphans', number[]>
}

export function renderStats({ root, now, by_kind, largest, history, series }: StatsData): string {
  const kinds = Object.entries(by_kind).map(([kind, count]) => `${count} ${kind}`)
  return [
    `now: ${formatBytes(now.bytes)} in ${plural(now.files, 'file')}; ${kinds.join(', ') || 'nothing'}`,
    `     ${now.live} live, ${plural(now.orphans, 'orphan')}`,
    ...(largest.length === 0 ? [] : ['', 'largest:', ...renderEntries(largest, root ?? '/')]),
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
  `  freed    ${formatBytes(history.freed)} by sweeps, ${formatBytes(history.freed_per_day)} a day`,
]

function renderSeries(series: StatsData['series']): string[] {
  return Object.entries(series).map(([name, values]) => {
    const top = Math.max(0, ...values)
    return `  ${name.padEnd(9)} ${sparkline(values)}  at most ${name === 'bytes' ? formatBytes(top) : top}`
  })
}
