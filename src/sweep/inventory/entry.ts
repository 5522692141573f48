import type { TreeSize } from '../../base/fs/measure-tree.ts'
import type { Liveness } from '../../base/process/liveness.ts'
import type { EntryFacts, KeepReason, RemoveReason } from '../verdict.ts'

/** One entry of the root: what it is, which run it belongs to, and what a sweep would do with it. */
export interface TempEntry {
  path: string
  kind: EntryFacts['kind']
  /** Milliseconds since the epoch. */
  created_at: number
  age_ms: number
  request_id: string | null
  session_id: string | null
  /** The run in which this run was started. */
  parent_request_id: string | null
  /** Name of the program. */
  command: string | null
  pid: number | null
  /** The liveness of the owner; null if no owner is known. */
  liveness: Liveness | null
  /** Whether a sweep would remove it now. */
  orphan: boolean
  reason: RemoveReason | KeepReason
  /** Paths elsewhere that are removed with their run. */
  tracks: TrackedLine[]
}

/** A line of `tracked/<requestId>`: a path elsewhere that is removed with its run. */
export interface TrackedLine {
  path: string
  /** The context that tracks it, as `outer > inner`. */
  context: string | null
  /**
   * Whether a sweep would remove it: the path still is what the run put there. False if nothing was there
   * when the path was tracked, or if it contains a protected directory.
   */
  sweepable: boolean
}

export interface MeasuredEntry extends TempEntry, TreeSize {
  /** Set if the time limit ended the count, so the sizes are lower bounds. */
  partial?: true
}

const comparisons = {
  size: (a: MeasuredEntry, b: MeasuredEntry) => b.disk_bytes - a.disk_bytes || b.bytes - a.bytes,
  age: (a: MeasuredEntry, b: MeasuredEntry) => a.created_at - b.created_at,
  name: () => 0,
}

type EntryOrder = keyof typeof comparisons

/** Sorts the largest or the oldest first; equal entries by name. */
export const sortEntries = (entries: readonly MeasuredEntry[], order: EntryOrder): MeasuredEntry[] =>
  [...entries].sort((a, b) => comparisons[order](a, b) || (a.path < b.path ? -1 : 1))

/** Entries in numbers. */
export interface EntryTotals extends TreeSize {
  entries: number
  scratches: number
  /** Scratches whose owner is alive. */
  live: number
  /** Entries that a sweep would remove. */
  orphans: number
}

export function sumEntries(entries: readonly MeasuredEntry[]): EntryTotals {
  const scratches = entries.filter(({ kind }) => kind === 'scratch')
  const sum = (field: keyof TreeSize): number => entries.reduce((total, entry) => total + entry[field], 0)
  return {
    entries: entries.length,
    scratches: scratches.length,
    live: scratches.filter(({ liveness }) => liveness === 'alive').length,
    orphans: entries.filter(({ orphan }) => orphan).length,
    files: sum('files'),
    directories: sum('directories'),
    bytes: sum('bytes'),
    disk_bytes: sum('disk_bytes'),
  }
}
