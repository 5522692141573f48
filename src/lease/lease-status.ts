import { homeStore } from './file-register.ts'
import { claimLiveness, forceOf } from './force.ts'
import type { LeaseOptions } from './lease.ts'
import { WorkspaceClaims } from './workspace-claims.ts'

/** Who holds a workspace, file or resource, and who waits for it. */
export type LeaseStatus = Awaited<ReturnType<typeof leaseStatus>>

/**
 * Tells who holds a workspace, a file or a resource: the claims in force, and the waiters, the one that has
 * waited longest first. Takes nothing and changes nothing. Times are in milliseconds.
 *
 * @example
 * const { isFree, claims } = await leaseStatus({ resource: 'deploy:prod' })
 */
export async function leaseStatus(
  options: Pick<LeaseOptions, 'workspace' | 'resource' | 'file' | 'store'> = {},
) {
  const store = options.store ?? homeStore()
  const workspaceClaims = WorkspaceClaims.open(store, options)
  const view = await workspaceClaims.read()
  const { observation } = view
  const waiters = await workspaceClaims.waiters(view)
  const claims = workspaceClaims.inForce(view).flatMap((claim) => {
    const force = forceOf(claim, observation)
    if (force === undefined) return []
    const { process } = force
    return {
      sessionId: claim.session_id,
      /** The first process that holds it; null if it belongs to none. */
      pid: claim.holders[0]?.pid ?? null,
      liveness: claimLiveness(claim, observation),
      /** The process that alone keeps it in force, as its time is over or its turn has ended. */
      process: process && { pid: process.pid, command: process.command },
      mode: claim.mode,
      paths: claim.paths,
      purpose: claim.purpose ?? null,
      fence: claim.fence,
      since: claim.acquired_at,
      /** Without a renewal. */
      expiresInMs: Math.round(force.leftMs),
    }
  })
  return {
    /** The path of the workspace, its repository where machines share it, or the name of the resource. */
    workspace: workspaceClaims.title,
    /** No claim is in force. Another session may claim it in the next moment. */
    isFree: claims.length === 0,
    claims,
    waiters: waiters.map(({ session_id: sessionId, process, paths, mode, since }) => {
      return { sessionId, pid: process.pid, paths, mode, since }
    }),
  }
}
