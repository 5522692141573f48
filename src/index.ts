/**
 * Scratches, leases, sessions, sweeps, and the liveness of processes.
 *
 * @module stint
 */
export type { AuditRecord, UnsettledAct } from './session/audit-record.ts'
export {
  acquireLease,
  acquireLeaseSync,
  type ClaimMode,
  findWorkspace,
  type Lease,
  type LeaseOptions,
  memoryRegister,
  type Now,
  type Register,
  type RegisterEntry,
  type Steps,
  type Workspace,
} from './lease/index.ts'
export { type Clock, systemClock } from './base/process/clock.ts'
export { formatDuration, parseDuration } from './base/text/duration.ts'
export { type ErrorCode, type ErrorEntry, errorTable } from './base/errors/error-table.ts'
export { isRequestId, isSessionId, newRequestId, newSessionId, ulid } from './base/text/id.ts'
export { type Identity, identify, type Liveness, liveness } from './base/process/liveness.ts'
export type { Removal, RemovalFailure, RemovalOptions } from './base/fs/remove-tree.ts'
export { StintError, type StintErrorOptions } from './base/errors/stint-error.ts'
export {
  type ContextOptions,
  createScratch,
  type Keep,
  type OutputDirectory,
  type ResourceEvent,
  resourceChannel,
  type Scratch,
  type ScratchContext,
  type ScratchOptions,
  type ScratchRoot,
} from './scratch/index.ts'
export type { SecretRef } from './secrets/index.ts'
export type { FilesystemOptions } from './session/files/driver.ts'
export { filesystemStore } from './session/files/driver.ts'
export type { Manifest, Revision } from './session/manifest.ts'
export type { SessionSecrets } from './session/session-secrets.ts'
export type { Act, ActOutcome, Session } from './session/session.ts'
export type { Slot, SlotOptions } from './session/slot.ts'
export type {
  AppendOptions,
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
  Receipt,
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
} from './session/store.ts'
export type { SweepReport, SweepScope } from './sweep/report.ts'
export type { KeepReason, RemoveReason } from './sweep/verdict.ts'
export { sweep, type SweepOptions, type SweepProgress, sweepSync } from './sweep/sweep.ts'
