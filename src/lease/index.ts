/** The door of leases: claims on workspaces and resources, kept in a register. */
export { ActivityLog, type ClaimActivity, activityKinds, type Actor } from './activity-log.ts'
export { type AllClaims, allClaims, type ClaimedTarget, claimsKeys, forEachClaimed } from './all-claims.ts'
export {
  type Claim,
  type ClaimMode,
  type ClaimOrigin,
  type ClaimsRecord,
  defaultTtlMs,
  isSameProcess,
  maxTtlMs,
  noClaims,
  parseOrigin,
  wholeWorkspace,
} from './claim.ts'
export { originText, pathsText, presentProcess, roughDuration, workText } from './claim-words.ts'
export { waitingHookName, transcriptTime } from './evidence.ts'
export { fileRegister, fileStore, homeStore } from './file-register.ts'
export {
  claimLiveness,
  type Force,
  forceOf,
  isInForce,
  msUntil,
  type Observation,
  type SessionProcess,
} from './force.ts'
export { blockReason, computeWorkspaceHash } from './injected-io-lock.ts'
export { acquireLease, type Lease, type LeaseOptions } from './lease.ts'
export type { LeaseLoss } from './own-claims.ts'
export { type LeaseStatus, leaseStatus } from './lease-status.ts'
export { isInSharedServer } from './lock-held-error.ts'
export {
  areKin,
  type Descent,
  findAncestors,
  mcpPartyOf,
  readDescent,
  type SessionVariable,
} from './party.ts'
export {
  type ActivityLogs,
  type LeaseStore,
  memoryStore,
  type Now,
  type Register,
  type RegisterEntry,
  type WaiterEntries,
} from './register.ts'
export {
  type AcquireAnswer,
  type AcquireRequest,
  areInConflict,
  covers,
  type Decision,
  type Granted,
  overlap,
  partyIn,
  type Refused,
} from './rules.ts'
export { sweepKey, sweepLocks } from './sweep-locks.ts'
export { type Waiter, waitersText } from './waiting.ts'
export { type ClaimsView, type Decide, type Decided, WorkspaceClaims } from './workspace-claims.ts'
export {
  fileClaim,
  findWorkspace,
  isOutside,
  type LeaseTarget,
  outsideName,
  targetKind,
  type Workspace,
  workspaceOf,
} from './workspace.ts'
