import { StintError } from '../base/errors/stint-error.ts'
import { type Identity, identify, ownIdentity } from '../base/process/liveness.ts'
import { readOrigin } from '../base/process/origin.ts'
import { durationMs } from '../base/text/duration.ts'
import { isSessionId } from '../base/text/id.ts'
import { type ClaimMode, defaultTtlMs, maxTtlMs } from './claim.ts'
import { homeStore } from './file-store.ts'
import { readDescent } from './party.ts'
import type { LeaseStore } from './register.ts'
import type { AcquireRequest } from './rules.ts'
import { WorkspaceClaims } from './workspace-claims.ts'
import { leaseTarget, type Workspace } from './workspace.ts'

export interface LeaseOptions {
  sessionId: string
  /** Any directory in the workspace (by default the current one), or a result of `findWorkspace`. */
  workspace?: string | Workspace
  /** A resource instead of a workspace: any text of 1 to 4,096 bytes that its users agree on. */
  resource?: string
  /** A file instead of a workspace, under whatever path; it need not exist. */
  file?: string
  /** Files or directories to claim, relative to the current directory; by default the whole workspace. */
  paths?: readonly string[]
  mode?: ClaimMode
  /** How long the claim lasts without a refresh, in milliseconds; 5 minutes by default. */
  ttlMs?: number
  /** How long to wait for another session: milliseconds, or a string like `10s`; by default not at all. */
  wait?: string | number
  signal?: AbortSignal
  /** What you are doing; shown to sessions that are refused. */
  purpose?: string
  /** The process that the claim belongs to, by default this one; `null`: none, only its time ends it. */
  pid?: number | null
  /** Where leases are kept; by default the files in `STINT_HOME`. */
  store?: LeaseStore
}

/** Validates the options; returns the claims they are about, the request and how long to wait. */
export function prepareLease(options: LeaseOptions): {
  claims: WorkspaceClaims
  request: AcquireRequest
  waitMs: number
} {
  const { sessionId, ttlMs = defaultTtlMs, pid = process.pid } = options
  if (!isSessionId(sessionId))
    throw new StintError('SESSION_ID_INVALID', `${JSON.stringify(sessionId)} cannot be a session id`)
  assertOptions({ ...options, ttlMs })
  const waitMs = durationMs(options.wait ?? 0, 'wait')
  const store = options.store ?? homeStore()
  const claims = new WorkspaceClaims(store, leaseTarget(options, store))
  const paths = claims.pathsOf(options.paths ?? [])
  return {
    claims,
    waitMs,
    request: {
      sessionId,
      holder: pid === null ? null : holderOf(pid),
      paths,
      mode: options.mode ?? 'exclusive',
      forMs: ttlMs,
      purpose: options.purpose,
      descent: () => readDescent(pid ?? process.pid),
      origin: () => readOrigin(pid ?? process.pid),
    },
  }
}

/** Limits that keep a record small enough to be read again. */
const maxPaths = 1000
const maxPurposeLength = 10_000

/** Plain JavaScript callers are not type-checked. */
function assertOptions(options: Omit<LeaseOptions, 'sessionId'> & { ttlMs: number }): void {
  const { ttlMs, mode = 'exclusive', pid = null, paths = [], purpose = '' } = options
  const list = Array.isArray(paths) ? (paths as unknown[]) : undefined
  const isTtl = (ms: number): boolean => ms > 0 && ms <= maxTtlMs
  const refuse = (problem: string): never => {
    throw new StintError('ARG_ERROR', problem)
  }
  if (!isTtl(ttlMs)) refuse(`ttlMs must be more than 0 and at most 30 days, not ${ttlMs}`)
  if (mode !== 'exclusive' && mode !== 'shared')
    refuse(`mode must be exclusive or shared, not ${String(mode)}`)
  if (pid !== null && !(Number.isSafeInteger(pid) && pid > 0))
    refuse(`pid must be that of a process, not ${pid}`)
  if (list?.every((path) => typeof path === 'string') !== true) refuse('paths must be a list of paths')
  if ((list?.length ?? 0) > maxPaths)
    refuse(`at most ${maxPaths} paths can be claimed; claim their directory`)
  if (typeof purpose !== 'string' || purpose.length > maxPurposeLength)
    refuse(`purpose must be a string of at most ${maxPurposeLength} characters`)
}

function holderOf(pid: number): Identity {
  const holder = pid === process.pid ? ownIdentity() : identify(pid)
  if (holder === undefined) throw new StintError('NOT_FOUND', `there is no process ${pid} to hold the lease`)
  return holder
}
