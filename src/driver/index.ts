/**
 * The contracts of drivers: sessions and leases on a medium of your own.
 *
 * @module stint/driver
 */
export type { ActivityLogs, LeaseStore, Now, Register, RegisterEntry, WaiterEntries } from '../lease/index.ts'
export {
  type CutBytes,
  createStore,
  emptyLogEnds,
  type HeldMedium,
  type Holder,
  type Leftover,
  type ListOptions,
  type LogEnd,
  type LogEnds,
  type LogGroup,
  type LogName,
  type LogTail,
  type Manifest,
  type Medium,
  type MediumStore,
  newHolder,
  type ReadableMedium,
  type Region,
  type RegionRange,
  type RemoveOptions,
  type Revision,
  type SessionContents,
  sessionExists,
  sessionFenced,
  type SessionHold,
  sessionLocked,
  sessionNotFound,
  type SessionStore,
  type SessionSummary,
  summarize,
  UncertainAppend,
} from '../session/index.ts'
