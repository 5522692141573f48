import type { MeasuredEntry } from './entry.ts'

/** A census in figures. */
export interface EntryTotals {
  entries: number
  scratches: number
  /** Scratches whose owner is alive. */
  live: number
  /** What a sweep would take. */
  orphans: number
  files: number
  directories: number
  bytes: number
}

export function totalsOf(entries: readonly MeasuredEntry[]): EntryTotals {
  const scratches = entries.filter(({ kind }) => kind === 'scratch')
  const sum = (field: 'files' | 'directories' | 'bytes'): number =>
    entries.reduce((total, entry) => total + entry[field], 0)
  return {
    entries: entries.length,
    scratches: scratches.length,
    live: scratches.filter(({ liveness }) => liveness === 'alive').length,
    orphans: entries.filter(({ orphan }) => orphan).length,
    files: sum('files'),
    directories: sum('directories'),
    bytes: sum('bytes'),
  }
}
