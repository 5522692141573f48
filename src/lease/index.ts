/** The door of leases: claims on workspaces and resources, kept in a register. */
export { ActivityLog, activityKinds, type ClaimActivity } from './activity-log.ts'
export { type AllClaims, allClaims, type ClaimedTarget, claimsKeys, forEachClaimed } from './all-claims.ts'
export {
  type Claim,
  type ClaimMode,
  type ClaimOrigin,
  type ClaimsRecord,
  defaultTtlMs,
  isSameProcess,
  maxTtlMs,
  parseOrigin,
} from './claim.ts'
export {
  isInSharedServer,
  originText,
  pathsText,
  presentProcess,
  roughDuration,
  workText,
  holderText,
  noForce,
} from './claim-words.ts'
export { waitingHookName, transcriptTime } from './evidence.ts'
export { fileRegister, nodeFiles, fileStore, homeStore } from './file-register.ts'
export {
  claimLiveness,
  type Force,
  forceOf,
  isInForce,
  msUntil,
  type Observation,
  type SessionProcess,
} from './force.ts'
export { acquireLease, type Lease, type LeaseOptions } from './lease.ts'
export type { LeaseLoss } from './own-claims.ts'
export { type LeaseStatus, leaseStatus } from './lease-status.ts'
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
  type AcquireRequest,
  areInConflict,
  covers,
  type Granted,
  overlap,
  partyIn,
  type Refused,
} from './rules.ts'
export { sweepKey, sweepLocks } from './sweep-locks.ts'
export { type Waiter } from './waiting.ts'
export { type ClaimsView, type TargetStatus, WorkspaceClaims } from './workspace-claims.ts'
export {
  assertPlainResource,
  fileClaim,
  findWorkspace,
  isOutside,
  type LeaseTarget,
  outsideName,
  targetKind,
  type Workspace,
  workspaceOf,
  workspacePath,
} from './workspace.ts'
