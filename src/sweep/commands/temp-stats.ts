import { relative } from 'node:path'
import { formatBytes } from '../../base/text/size.ts'
import { defineBareCommand } from '../../command/define-command.ts'
import type { Screen } from '../../command/context.ts'
import { findRoot } from '../../scratch/index.ts'
import {
  type EntryTotals,
  type HistorySummary,
  type MeasuredEntry,
  measureEntries,
  renderOwner,
  sortEntries,
  sumEntries,
  summarizeHistory,
} from '../index.ts'
import { intervalOption, readInterval, watchScreen } from '../../cli/terminal/watch-screen.ts'
import { showWork } from '../../cli/terminal/progress.ts'
import { formatAge, formatDataSize, formatSpace, plural } from '../../cli/text/format.ts'
import { type Column, table } from '../../cli/text/table.ts'

const largestShown = 5

interface StatsData {
  /** Milliseconds since the epoch. */
  at: number
  root: string | null
  now: EntryTotals
  by_kind: Partial<Record<MeasuredEntry['kind'], number>>
  largest: MeasuredEntry[]
  history: HistorySummary | null
}

export const tempStatsCommand = defineBareCommand({
  name: 'stats',
  summary: 'How much there is now, and what sweeps have found and removed. Every `stint sweep` adds a line.',
  examples: [
    ['stint temp stats', 'now, and since the first sweep'],
    ['stint temp stats --json', 'for scripts'],
  ],
  run: (context): Promise<StatsData> => showWork('measuring', context, gatherStats),
  render: (data, screen) => renderStats(data, screen).join('\n'),
})

export const tempWatchCommand = defineBareCommand({
  name: 'watch',
  summary: 'Shows what `stint temp stats` shows, kept up to date until it is stopped.',
  options: intervalOption,
  envelope: 'on-request',
  stream: true,
  examples: [
    ['stint temp watch', 'every two seconds'],
    ['stint temp watch --interval 10s --json >temp.jsonl', 'one JSON object a line'],
  ],
  run: (context, { options }) =>
    watchScreen(context, readInterval(options.interval), {
      called: 'stint temp watch',
      look: () => showWork('measuring', context, gatherStats),
      render: (data, screen) => ({ body: renderStats(data, screen) }),
      // Where it cannot redraw, it prints every look, whether something has changed or not.
      stableFields: ({ at }) => at,
    }),
})

/** Measures the temp directory, and reads its history. */
async function gatherStats(): Promise<StatsData> {
  const at = Date.now()
  const entries = await measureEntries(at)
  const now = sumEntries(entries)
  return {
    at,
    root: findRoot()?.path ?? null,
    now,
    by_kind: countKinds(entries),
    largest: sortEntries(entries, 'size').slice(0, largestShown),
    history: (await summarizeHistory(now)) ?? null,
  }
}

function countKinds(entries: readonly MeasuredEntry[]): StatsData['by_kind'] {
  const counts: StatsData['by_kind'] = {}
  for (const { kind } of entries) counts[kind] = (counts[kind] ?? 0) + 1
  return counts
}

function renderStats(data: StatsData, { columns }: Pick<Screen, 'columns'>): string[] {
  const { root, now, by_kind, largest, history } = data
  const kinds = Object.entries(by_kind).map(([kind, count]) => `${count} ${kind}`)
  return [
    `now: ${formatSpace(now)} in ${plural(now.files, 'file')}; ${kinds.join(', ') || 'nothing'}`,
    `     ${now.live} live, ${plural(now.orphans, 'orphan')}`,
    ...(largest.length === 0 ? [] : ['', 'largest:', ...renderEntries(largest, root ?? '/', columns)]),
    '',
    ...(history === null ? ['no history yet: `stint sweep` writes it'] : renderHistory(history, data.at)),
  ]
}

function renderHistory(
  { sweeps, since, removed, disk_freed, change }: HistorySummary,
  now: number,
): string[] {
  const signed = (amount: number, format: (amount: number) => string = String): string =>
    `${amount < 0 ? '-' : '+'}${format(Math.abs(amount))}`
  return [
    `${plural(sweeps, 'sweep')} in ${formatAge(now - since)}: removed ${removed}, freed ${formatBytes(disk_freed)}`,
    `since the first: disk ${signed(change.disk_bytes, formatBytes)}, entries ${signed(change.entries)}, orphans ${signed(change.orphans)}`,
  ]
}

/** Renders entries as a table, one line each; empty for no entries. */
export const renderEntries = (
  entries: readonly MeasuredEntry[],
  rootPath: string,
  columns: number,
): string[] => table(entries, entryColumns(rootPath), columns)

const entryColumns = (rootPath: string): Column<MeasuredEntry>[] => [
  { title: 'KIND', cell: ({ kind }) => kind, spare: 3 },
  { title: 'SIZE', cell: ({ disk_bytes }) => formatBytes(disk_bytes), align: 'right' },
  { title: 'DATA', cell: formatDataSize, align: 'right', spare: 0 },
  { title: 'FILES', cell: ({ files }) => files, align: 'right', spare: 2 },
  { title: 'AGE', cell: ({ age_ms }) => formatAge(age_ms), align: 'right' },
  { title: 'OWNER', cell: renderOwner, cut: 'end', least: 14 },
  { title: 'SESSION', cell: ({ session_id }) => session_id, cut: 'middle', least: 10, spare: 1 },
  {
    title: 'SWEEP',
    cell: ({ orphan, reason }) => `${orphan ? 'removes' : 'keeps'} (${reason})`,
    cut: 'end',
    least: 20,
  },
  {
    title: 'NAME',
    cell: ({ path, tracks }) => [relative(rootPath, path), ...tracks.map((it) => `→ ${it.path}`)].join(' '),
    cut: 'middle',
    least: 12,
  },
]
