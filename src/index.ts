/**
 * Scratches, leases, sessions, sweeps, and the liveness of processes.
 *
 * @module stint
 */
export type { AuditRecord, UnsettledAct } from './audit/record.ts'
export { acquireLease, acquireLeaseSync, type Lease } from './lease/lease.ts'
export type { LeaseOptions } from './lease/lease-request.ts'
export type { ClaimMode } from './lease/claim.ts'
export { memoryRegister } from './lease/memory-register.ts'
export type { Held, Now, Register, Steps } from './lease/register.ts'
export { findWorkspace, type Workspace } from './lease/workspace.ts'
export { type Clock, systemClock } from './primitives/clock.ts'
export { formatDuration, parseDuration } from './primitives/duration.ts'
export { type ErrorCode, type ErrorEntry, errorTable } from './primitives/error-table.ts'
export { isRequestId, isSessionId, newRequestId, newSessionId, ulid } from './primitives/id.ts'
export { type Identity, identify, type Liveness, liveness } from './primitives/liveness.ts'
export type { Removal, RemovalFailure, RemovalOptions } from './primitives/remove-tree.ts'
export { StintError, type StintErrorOptions } from './primitives/stint-error.ts'
export type { Context, ContextOptions } from './scratch/context.ts'
export type { OutputDirectory } from './scratch/output.ts'
export type { ScratchRoot } from './scratch/root.ts'
export type { Keep } from './scratch/keep.ts'
export { type ResourceEvent, resourceChannel } from './scratch/resource-event.ts'
export { createScratch, type Scratch, type ScratchOptions } from './scratch/scratch.ts'
export type { SecretRef } from './secrets/reference.ts'
export type { FilesystemOptions } from './store/filesystem/driver.ts'
export { filesystemStore } from './store/filesystem/store.ts'
export type { Manifest, Revision } from './store/manifest.ts'
export type { AppendOptions, Receipt } from './store/driver.ts'
export type { SessionSecrets } from './store/session-secrets.ts'
export type { Act, ActOutcome } from './store/session-acts.ts'
export type { Session } from './store/session.ts'
export type { Slot, SlotOptions } from './store/slot.ts'
export type {
  CreateOptions,
  EventOptions,
  ForkOptions,
  Health,
  Holder,
  Inspection,
  ListOptions,
  LogHealth,
  NewAudit,
  NewEvent,
  RecoveryReport,
  ResumeOptions,
  SessionEvent,
  SessionState,
  SessionStore,
  SessionSummary,
  SlotValue,
  SnapshotPolicy,
  Visit,
  VisitOptions,
} from './store/store.ts'
export type { SweepScope } from './sweep/places.ts'
export type { SweepReport } from './sweep/report.ts'
export type { KeepReason, RemoveReason } from './sweep/verdict.ts'
export { sweep, type SweepOptions, type SweepProgress, sweepSync } from './sweep/sweep.ts'
