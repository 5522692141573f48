import type { Liveness } from '../base/process/liveness.ts'
import type { ClaimMode } from './claim-record.ts'
import { claimLiveness, claimStatus, type ClaimStatus, remainingMs } from './claim-status.ts'
import { homeRegister } from './file-register.ts'
import type { LeaseOptions } from './lease-options.ts'
import { leaseTarget } from './lease-target.ts'
import { WorkspaceClaims } from './workspace-claims.ts'

/** Who holds a workspace, file or resource, and who waits for it. */
export interface LeaseStatus {
  /** The path of the workspace, its repository where machines share it, or the name of the resource. */
  workspace: string
  /** No claim is in force. Another session may claim it in the next moment. */
  isFree: boolean
  claims: {
    sessionId: string
    /** The first process that holds it; null if it belongs to none. */
    pid: number | null
    liveness: Liveness
    /** `fresh` and `busy` claims are in force. The next session that asks gets a `dead` or `expired` one. */
    state: ClaimStatus
    mode: ClaimMode
    paths: readonly string[]
    purpose: string | null
    fence: number
    /** Milliseconds since the epoch. */
    since: number
    /** In milliseconds, without another refresh. */
    expiresInMs: number
  }[]
  /** In the order in which they are served. */
  waiters: { sessionId: string; pid: number; paths: readonly string[]; mode: ClaimMode; since: number }[]
}

/**
 * Tells who holds a workspace, a file or a resource. Takes nothing and changes nothing.
 *
 * @example
 * const { isFree, claims } = await leaseStatus({ resource: 'deploy:prod' })
 */
export async function leaseStatus(
  options: Pick<LeaseOptions, 'workspace' | 'resource' | 'file' | 'register'> = {},
): Promise<LeaseStatus> {
  const register = options.register ?? homeRegister()
  const claims = new WorkspaceClaims(register, leaseTarget(options, register))
  const view = await claims.read()
  const { record, observation } = view
  const stored = record.claims.map((claim) => ({
    sessionId: claim.session_id,
    pid: claim.pid,
    liveness: claimLiveness(claim, observation),
    state: claimStatus(claim, observation),
    mode: claim.mode,
    paths: claim.paths,
    purpose: claim.purpose,
    fence: claim.fence,
    since: claim.acquired_at,
    expiresInMs: Math.round(remainingMs(claim, observation)),
  }))
  return {
    workspace: claims.name,
    isFree: stored.every(({ state }) => state === 'dead' || state === 'expired'),
    claims: stored,
    waiters: (await claims.waiters(view)).map(({ session_id, process, paths, mode, since }) => ({
      sessionId: session_id,
      pid: process.pid,
      paths,
      mode,
      since,
    })),
  }
}
