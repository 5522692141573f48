import type { SnapshotPolicy } from './store.ts'

export const defaultPolicy: SnapshotPolicy = { at: 'turn', minBytes: 256 << 10, minRecords: 500 }

/** Visitors never close a session: one of them takes a snapshot after this many records. */
export const visitedRecords = 5000

/** Has enough been written since the last snapshot? One costs a few syncs; a resume replays the rest. */
export const isWorthIt = (
  { minBytes, minRecords }: SnapshotPolicy,
  { records, bytes }: { records: number; bytes: number },
): boolean => records > 0 && (bytes >= minBytes || records >= minRecords)
