/**
 * The door of leases: claims on workspaces and resources, kept in a register.
 */
export { type AllClaims, allClaims, type ClaimedTarget, forEachClaimedSync } from './all-claims.ts'
export {
  type Claim,
  type ClaimHolder,
  type ClaimMode,
  type ClaimsRecord,
  defaultTtlMs,
  maxTtlMs,
  sameProcess,
  wholeWorkspace,
} from './claim.ts'
export { fileRegister, homeRegister } from './file-register.ts'
export { blockReason } from './injected-io-lock.ts'
export { acquireLease, acquireLeaseSync, type Lease } from './lease.ts'
export type { LeaseOptions } from './lease-request.ts'
export { type LeaseTarget, targetKind } from './lease-target.ts'
export { claimLiveness } from './lock-held-error.ts'
export { memoryRegister } from './memory-register.ts'
export {
  asyncRegister,
  type Now,
  type Register,
  type RegisterEntry,
  type Steps,
  syncRegister,
} from './register.ts'
export { repositoryOf } from './repository.ts'
export {
  type AcquireAnswer,
  type AcquireRequest,
  decideAcquire,
  type Decision,
  decideRefresh,
  decideRelease,
  withCall,
} from './rules.ts'
export { ageOf, claimStatus, isInForce, type Observation, remainingMs } from './staleness.ts'
export type { Decide } from './stored-claims.ts'
export { claimPaths, computeWorkspaceHash, findWorkspace, type Workspace } from './workspace.ts'
export { WorkspaceClaims } from './workspace-claims.ts'
