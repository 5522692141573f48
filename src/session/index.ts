/**
 * The door of sessions: the store and its public types, the contract of drivers with what they share, and the
 * store in plain files.
 */
import { nodeDisk } from '../base/fs/disk.ts'
import { hasEntries } from '../base/fs/exists.ts'
import { sessionsDirectoryIn } from './files/session-directory.ts'
import { byLastActivity } from './manifest.ts'
import type { ListOptions, SessionSummary } from './store.ts'

export { type AuditRecord, auditRecordOf, type UnsettledAct } from './audit-record.ts'
export { createStore, type DriverStore } from './create-store.ts'
export { auditHash, holderOf, idsOf } from './driver-defaults.ts'
export type * from './driver.ts'
export { isVisible } from './events.ts'
export { followEvents } from './follow-events.ts'
export { type DiskUse, type MeasuredSessions, type UseKind, useKinds } from './files/disk-use.ts'
export { FilesystemDriver, type FilesystemOptions, filesystemStore } from './files/driver.ts'
export type { RecordNumbers, RepairedLog } from './files/repair.ts'
export { sweepStagedSessions } from './files/staged-session.ts'
export {
  holderStanding,
  type LockStanding,
  newHolder,
  parseHolder,
  sessionState,
  silenceMs,
} from './holder.ts'
export type { LogEnd, LogEnds, LogName } from './log/log-end.ts'
export {
  attestedBy,
  type Facts,
  factsOf,
  type Manifest,
  parseManifest,
  type Revision,
  revised,
  summarize,
} from './manifest.ts'
export { checkEventType } from './make-entry.ts'
export type { FoundRecord, Match, SearchQuery } from './search-query.ts'
export * from './session-errors.ts'
export { assertNameHasNoSecret, keyId } from './session-name.ts'
export type { SessionSecrets } from './session-secrets.ts'
export type * from './session.ts'
export type { Slot, SlotOptions } from './slot.ts'
export {
  brokenSlots,
  emptyState,
  type FoldedState,
  nothingToReport,
  ownPrefix,
  applyAuditRecord,
  applyJournalRecord,
  turnType,
  visitedRecords,
} from './state.ts'
export * from './store.ts'
export { importedManifest, type SessionTransfer } from './transfer.ts'

/** Lists the sessions in a home, newest activity first. Loads the code for that only if there are any. */
export async function listSessionsIn(home: string, options?: ListOptions): Promise<SessionSummary[]> {
  const sessions = sessionsDirectoryIn(home)
  if (!hasEntries(sessions)) return []
  const { listSessions } = await import('./files/list-sessions.ts')
  return (await listSessions(nodeDisk, sessions, options)).sort(byLastActivity)
}
