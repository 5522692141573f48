import type { Activity } from '../../monitor/activity.ts'
import type { MeasuredEntry } from '../../monitor/entry.ts'
import { sparkline } from '../../monitor/sparkline.ts'
import type { Totals } from '../../monitor/totals.ts'
import { formatBytes } from '../format-bytes.ts'
import { formatAge, renderEntries } from './describe.ts'

/** What `stint temp stats` answers. */
export interface StatsData {
  root: string | null
  now: Totals
  by_kind: Partial<Record<MeasuredEntry['kind'], number>>
  largest: MeasuredEntry[]
  since: number
  history: Activity | null
  series: Record<'bytes' | 'files' | 'scratches' | 'orphans', number[]>
}

export function renderStats({ root, now, by_kind, largest, history, series }: StatsData): string {
  const kinds = Object.entries(by_kind).map(([kind, count]) => `${count} ${kind}`)
  return [
    `now: ${formatBytes(now.bytes)} in ${now.files} files; ${kinds.join(', ') || 'nothing'}`,
    `     ${now.live} live, ${now.orphans} orphans`,
    ...(largest.length === 0 ? [] : ['', 'largest:', ...renderEntries(largest, root ?? '/')]),
    '',
    ...(history === null
      ? ['no history yet: `stint sweep` and `stint temp watch` write it']
      : [...renderActivity(history), ...renderSeries(series)]),
  ].join('\n')
}

const renderActivity = (history: Activity): string[] => [
  `history: ${history.samples} samples over ${formatAge(history.to - history.from)}`,
  `  made     ${history.created} scratches, ${history.created_per_day} a day`,
  `  removed  ${history.removed} scratches, ${history.removed_per_day} a day`,
  `  freed    ${formatBytes(history.freed)} by sweeps, ${formatBytes(history.freed_per_day)} a day`,
]

function renderSeries(series: StatsData['series']): string[] {
  return Object.entries(series).map(([name, values]) => {
    const top = Math.max(0, ...values)
    return `  ${name.padEnd(9)} ${sparkline(values)}  at most ${name === 'bytes' ? formatBytes(top) : top}`
  })
}
