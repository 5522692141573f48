/**
 * The contracts of drivers: sessions and leases on a medium of your own.
 *
 * @module stint/driver
 */
export type { ActivityLogs, LeaseStore, Now, Register, RegisterEntry, WaiterEntries } from '../lease/index.ts'
export {
  auditHash,
  createStore,
  type DiskUse,
  type MeasuredSessions,
  type DriverStore,
  type FoldedState,
  type FoundRecord,
  type HeldSession,
  type LogEnd,
  type LogEnds,
  type LogEntry,
  type LogName,
  newHolder,
  type ReadableSession,
  type RecordOptions,
  type RecordRange,
  type Recovery,
  type RemovedSession,
  revised,
  type SearchQuery,
  sessionExists,
  sessionFenced,
  type SessionFiles,
  type SessionHold,
  sessionLocked,
  sessionNotFound,
  type SessionRecords,
  type SessionTransfer,
  type StoreDriver,
  type StoredReceipt,
  type StoredRecord,
  summarize,
  type TransferDriver,
  turnType,
  type WriteGuard,
} from '../session/index.ts'
export type {
  Health,
  Holder,
  ListOptions,
  LogHealth,
  Manifest,
  RecoveryReport,
  Revision,
  SessionStore,
  SessionSummary,
} from '../session/index.ts'
