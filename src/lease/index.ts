/** The door of leases: claims on workspaces and resources, kept in a register. */
export {
  type AllClaims,
  allClaims,
  type ClaimedTarget,
  forEachClaimedSync,
  isClaimsKey,
} from './all-claims.ts'
export { type AgentSession, agentSessions, isBelowAgent } from './agent-sessions.ts'
export { type ClaimActivity, activityKinds, type Actor } from './activity-log.ts'
export {
  type CallPolicy,
  type Claim,
  type ClaimHolder,
  type ClaimMode,
  type ClaimOrigin,
  type ClaimsRecord,
  defaultCallPolicy,
  defaultTtlMs,
  type HolderCall,
  isSameProcess,
  maxTtlMs,
  wholeWorkspace,
} from './claim-record.ts'
export { waitingHookName } from './claim-processes.ts'
export {
  ageOf,
  busyWork,
  claimLiveness,
  claimStatus,
  isInForce,
  type Observation,
  remainingMs,
} from './claim-status.ts'
export { backgroundOf, type Work } from './claim-work.ts'
export { fileRegister, homeRegister } from './file-register.ts'
export { blockReason, computeWorkspaceHash } from './injected-io-lock.ts'
export { acquireLease, acquireLeaseSync, type Lease } from './lease.ts'
export type { LeaseLoss } from './lease-loss.ts'
export type { LeaseOptions } from './lease-options.ts'
export { type LeaseStatus, leaseStatus } from './lease-status.ts'
export {
  claimPaths,
  findWorkspace,
  isInWorkspace,
  type LeaseTarget,
  targetKind,
  type Workspace,
} from './lease-target.ts'
export { activityText, isInSharedServer, originText, roughDuration, workText } from './lock-held-error.ts'
export {
  forgetPasses,
  beginByMark,
  type MarkedCall,
  noteRefusedCall,
  type PassAddition,
  removeMarks,
  renewPasses,
} from './pass.ts'
export { areKin, type Descent, findAncestors, readDescent, type SessionVariable } from './party.ts'
export {
  type ActivityLogs,
  memoryRegister,
  type Now,
  type Register,
  type RegisterEntry,
  type Steps,
  type WaiterEntry,
  type WaiterQueue,
} from './register.ts'
export { firstWords, forgetPrompt, keepPrompt, promptedSessions, readPrompt } from './session-prompt.ts'
export { sweepKey, sweepLocks } from './sweep-locks.ts'
export { repositoryOf } from './repository.ts'
export {
  type AcquireAnswer,
  type AcquireRequest,
  areInConflict,
  decideAcquire,
  type Decision,
  decideRefresh,
  decideRelease,
  type NewCall,
  overlap,
  refuse,
  type ReleaseAnswer,
} from './rules.ts'
export { type Decide, type Decided, observeSession } from './stored-claims.ts'
export { waitedMsOf, type Waiter, waitersText } from './waiters.ts'
export type { Claimant } from './waiting.ts'
export { type Blocker, WorkspaceClaims } from './workspace-claims.ts'
