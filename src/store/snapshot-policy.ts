import type { SnapshotPolicy } from './store.ts'

export const defaultPolicy: SnapshotPolicy = { at: 'turn', minBytes: 256 << 10, minRecords: 500 }

/** A snapshot costs a few syncs; a resume costs what came after it. */
export const isWorthIt = (
  { minBytes, minRecords }: SnapshotPolicy,
  { records, bytes }: { records: number; bytes: number },
): boolean => records > 0 && (bytes >= minBytes || records >= minRecords)
