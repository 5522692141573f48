/**
 * The door of sessions: the store and its public types, the contract of drivers with what they share, and the
 * store in plain files.
 */
import { nodeDisk } from '../base/fs/disk.ts'
import { hasEntries } from '../base/fs/exists.ts'
import { sessionsDirectoryIn } from './files/session-directory.ts'
import { byLastActivity } from './manifest.ts'
import type { Repair, repairSession as repair } from './repair.ts'
import type { ListOptions, SessionSummary } from './store.ts'

export { auditRecordOf } from './state.ts'
export { copySession } from './copy-session.ts'
export {
  type BuiltInMedium,
  type BuiltInStore,
  createStore,
  type MediumStore,
  type RemovedSession,
  type SessionFiles,
} from './create-store.ts'
export { isVisible } from './inspection.ts'
export { followEvents } from './inspection.ts'
export { FilesMedium, type FilesystemOptions, filesystemStore } from './files/medium.ts'
export { sweepStagedSessions } from './files/staged-session.ts'
export {
  holderStanding,
  type LockStanding,
  newHolder,
  parseHolder,
  sessionState,
  silenceMs,
} from './files/lock-record.ts'
export {
  codecs,
  emptyLogEnds,
  isSameEnd,
  type LogEnd,
  type LogEnds,
  type LogName,
  maxInlineChars,
} from './log/codec.ts'
export {
  attestedBy,
  type Facts,
  factsOf,
  type Manifest,
  newManifest,
  parseManifest,
  type Revision,
  revised,
  summarize,
} from './manifest.ts'
export { checkEventType } from './entries.ts'
export { UncertainAppend } from './medium.ts'
export type * from './medium.ts'
export type { RecordNumbers, RepairedLog } from './repair.ts'
export type { FoundRecord, Match, SearchQuery } from './search-query.ts'
export * from './session-errors.ts'
export { assertNameHasNoSecret, keyId } from './create-manifest.ts'
export type { SessionSecrets } from './entries.ts'
export type * from './session.ts'
export type { Slot, SlotOptions } from './state.ts'
export { turnType } from './state.ts'
export * from './store.ts'

/** Repairs a session. Only the command that uses it loads the code. */
export async function repairSession(...options: Parameters<typeof repair>): Promise<Repair> {
  return await (await import('./repair.ts')).repairSession(...options)
}

/** Lists the sessions in a home, newest activity first. Loads the code for that only if there are any. */
export async function listSessionsIn(home: string, options?: ListOptions): Promise<SessionSummary[]> {
  const sessions = sessionsDirectoryIn(home)
  if (!hasEntries(sessions)) return []
  const { listSessions } = await import('./files/list-sessions.ts')
  return (await listSessions(nodeDisk, sessions, options)).sort(byLastActivity)
}
