import { relative } from 'node:path'
import { formatBytes } from '../../base/text/size.ts'
import { visibleText } from '../../base/text/escape.ts'
import type { MeasuredEntry, TempEntry } from '../../sweep/index.ts'
import { table } from '../text/table.ts'
import { formatAge } from '../text/format.ts'

/** Renders entries as a table, one line each; empty for no entries. */
export function renderEntries(entries: readonly MeasuredEntry[], rootPath: string): string[] {
  const titles = ['KIND', '>SIZE', '>FILES', '>AGE', 'OWNER', 'SESSION', 'SWEEP', 'NAME']
  const rows = entries.map((entry) => [
    entry.kind,
    formatBytes(entry.bytes),
    String(entry.files),
    formatAge(entry.age_ms),
    renderOwner(entry),
    entry.session_id ?? '',
    `${entry.orphan ? 'removes' : 'keeps'} (${entry.reason})`,
    visibleText([relative(rootPath, entry.path), ...entry.tracks.map(({ path }) => `→ ${path}`)].join(' ')),
  ])
  return rows.length === 0 ? [] : table(titles, rows)
}

export function renderOwner({
  command,
  pid,
  liveness,
}: Pick<TempEntry, 'command' | 'pid' | 'liveness'>): string {
  if (pid === null) return liveness === null ? '-' : liveness
  return `${command ?? '?'} (pid ${pid}, ${liveness ?? 'unknown'})`
}
