import type { Liveness } from '../../base/process/liveness.ts'
import type { TreeSize } from '../../base/fs/measure-tree.ts'
import type { TrackedLine } from './tracked-line.ts'
import type { EntryFacts, KeepReason, RemoveReason } from '../verdict.ts'

/** One entry of the root: what it is, whose it is, and what a sweep would make of it. */
export interface TempEntry {
  path: string
  kind: EntryFacts['kind']
  /** Milliseconds since the epoch. */
  created_at: number
  age_ms: number
  request_id: string | null
  session_id: string | null
  /** The run this one was started in. */
  parent_request_id: string | null
  /** Name of the program. */
  command: string | null
  pid: number | null
  /** Of its owner; null where nobody is known. */
  liveness: Liveness | null
  /** Would a sweep take it now? */
  orphan: boolean
  reason: RemoveReason | KeepReason
  /** Paths elsewhere that go with their run. */
  tracks: TrackedLine[]
}

export interface MeasuredEntry extends TempEntry, TreeSize {
  /** There was no time to count everything: it is at least so much. */
  partial?: true
}

const orders = {
  size: (a: MeasuredEntry, b: MeasuredEntry) => b.bytes - a.bytes,
  age: (a: MeasuredEntry, b: MeasuredEntry) => a.created_at - b.created_at,
  name: () => 0,
}

export type EntryOrder = keyof typeof orders

/** The largest or the oldest first; equals by name. */
export const sortEntries = (entries: readonly MeasuredEntry[], order: EntryOrder): MeasuredEntry[] =>
  [...entries].sort((a, b) => orders[order](a, b) || (a.path < b.path ? -1 : 1))
