import type { Liveness } from '../base/process/liveness.ts'
import type { ClaimMode } from './claim.ts'
import { homeStore } from './file-register.ts'
import { claimLiveness, forceOf } from './force.ts'
import type { LeaseOptions } from './lease.ts'
import { WorkspaceClaims } from './workspace-claims.ts'

/** Who holds a workspace, file or resource, and who waits for it. */
export interface LeaseStatus {
  /** The path of the workspace, its repository where machines share it, or the name of the resource. */
  workspace: string
  /** No claim is in force. Another session may claim it in the next moment. */
  isFree: boolean
  /** The claims in force. */
  claims: {
    sessionId: string
    /** The first process that holds it; null if it belongs to none. */
    pid: number | null
    liveness: Liveness
    /** The process that alone keeps it in force, as its time is over or its turn has ended. */
    process?: { pid: number; command: string }
    mode: ClaimMode
    paths: readonly string[]
    purpose: string | null
    fence: number
    /** Milliseconds since the epoch. */
    since: number
    /** In milliseconds, without a renewal. */
    expiresInMs: number
  }[]
  /** The one that has waited longest first. */
  waiters: { sessionId: string; pid: number; paths: readonly string[]; mode: ClaimMode; since: number }[]
}

/**
 * Tells who holds a workspace, a file or a resource. Takes nothing and changes nothing.
 *
 * @example
 * const { isFree, claims } = await leaseStatus({ resource: 'deploy:prod' })
 */
export async function leaseStatus(
  options: Pick<LeaseOptions, 'workspace' | 'resource' | 'file' | 'store'> = {},
): Promise<LeaseStatus> {
  const store = options.store ?? homeStore()
  const claims = WorkspaceClaims.open(store, options)
  const { waiters, observation, ...status } = await claims.status()
  const held = status.claims.flatMap((claim) => {
    const force = forceOf(claim, observation)
    if (force === undefined) return []
    return {
      sessionId: claim.session_id,
      pid: claim.holders[0]?.pid ?? null,
      liveness: claimLiveness(claim, observation),
      ...(force.process && { process: { pid: force.process.pid, command: force.process.command } }),
      mode: claim.mode,
      paths: claim.paths,
      purpose: claim.purpose ?? null,
      fence: claim.fence,
      since: claim.acquired_at,
      expiresInMs: Math.round(force.leftMs),
    }
  })
  return {
    workspace: claims.title,
    isFree: held.length === 0,
    claims: held,
    waiters: waiters.map(({ session_id, process, paths, mode, since }) => ({
      sessionId: session_id,
      pid: process.pid,
      paths,
      mode,
      since,
    })),
  }
}
