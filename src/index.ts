/**
 * Scratches, leases, sessions, sweeps, and the liveness of processes.
 *
 * @module stint
 */
export {
  acquireLease,
  type ClaimMode,
  fileStore,
  findWorkspace,
  type Lease,
  type LeaseLoss,
  type LeaseOptions,
  type LeaseStatus,
  type LeaseStore,
  leaseStatus,
  memoryStore,
  type Workspace,
} from './lease/index.ts'
export { type Clock, systemClock } from './base/process/clock.ts'
export { formatDuration, parseDuration } from './base/text/duration.ts'
export { type ErrorCode, type ErrorEntry, errorTable, type OwnErrorCode } from './base/errors/error-table.ts'
export { isRequestId, isSessionId, newRequestId, newSessionId, ulid } from './base/text/id.ts'
export { type Identity, identify, type Liveness, liveness } from './base/process/liveness.ts'
export type { Removal, RemovalFailure, RemovalOptions } from './base/fs/remove-tree.ts'
export { StintError, type StintErrorOptions } from './base/errors/stint-error.ts'
export {
  type ContextOptions,
  createScratch,
  type Keep,
  type OutputDirectory,
  type Scratch,
  type ScratchContext,
  type ScratchOptions,
  type ScratchRoot,
} from './scratch/index.ts'
export type { SecretRef } from './secrets/index.ts'
export {
  type Act,
  type ActOutcome,
  type AppendOptions,
  type AuditRecord,
  type CreateOptions,
  type EventOptions,
  type FilesystemOptions,
  filesystemStore,
  type FollowOptions,
  type ForkOptions,
  type FoundEvent,
  type Health,
  type HoldOptions,
  type Holder,
  type Inspection,
  type ListOptions,
  type LogHealth,
  type Manifest,
  type Mask,
  type NewAudit,
  type NewEvent,
  type Receipt,
  type RecoveryReport,
  type RemoveOptions,
  type ResumeOptions,
  type Revision,
  type SearchOptions,
  type Session,
  type SessionEvent,
  type SessionName,
  type SessionSecrets,
  type SessionState,
  type SessionStore,
  type SessionSummary,
  type SharedSession,
  type Slot,
  type SlotOptions,
  type SlotValue,
  type SnapshotPolicy,
  type UnsettledAct,
  type Visit,
  type VisitOptions,
} from './session/index.ts'
export {
  type KeepReason,
  type RemoveReason,
  sweep,
  type SweepOptions,
  type SweepProgress,
  type SweepReport,
  type SweepScope,
} from './sweep/index.ts'
