import { relative } from 'node:path'
import { formatBytes } from '../../../base/text/size.ts'
import type { MeasuredEntry, TempEntry } from '../../index.ts'
import { type Column, table } from '../../../cli/text/table.ts'
import { formatAge, formatDataSize } from '../../../cli/text/format.ts'

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

export function renderOwner({
  command,
  pid,
  liveness,
}: Pick<TempEntry, 'command' | 'pid' | 'liveness'>): string {
  if (pid === null) return liveness === null ? '-' : liveness
  return `${command ?? '?'} (pid ${pid}, ${liveness ?? 'unknown'})`
}
