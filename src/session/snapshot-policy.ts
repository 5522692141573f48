import type { SnapshotPolicy } from './store.ts'

export const defaultPolicy: SnapshotPolicy = { at: 'turn', minBytes: 256 << 10, minRecords: 500 }

/** Visitors close nothing. So that a resume need not read all they have written, one of them takes a snapshot after so many records. */
export const visitedRecords = 5000

/** A snapshot costs a few syncs; a resume costs what came after it. */
export const isWorthIt = (
  { minBytes, minRecords }: SnapshotPolicy,
  { records, bytes }: { records: number; bytes: number },
): boolean => records > 0 && (bytes >= minBytes || records >= minRecords)
