import { join } from 'node:path'
import { exists } from '../../base/fs/exists.ts'
import type { CommandContext } from '../context.ts'
import type { PointRequest } from '../../points/index.ts'
import {
  acquireLease,
  type AcquireRequest,
  defaultTtlMs,
  readDescent,
  type WorkspaceClaims,
} from '../../lease/index.ts'
import { newSessionId } from '../../base/text/id.ts'
import { identify } from '../../base/process/liveness.ts'
import { registerEnvironmentSecrets } from '../../secrets/index.ts'
import { announceWait } from '../../lease/commands/wait.ts'
import { openClaims } from '../../lease/commands/lock-options.ts'

interface HoldLeaseOptions {
  path: readonly string[]
  ttl: number | undefined
  wait: number | undefined
  purpose: string | undefined
  'on-lost': 'kill' | 'warn' | undefined
  resource?: string
  store?: string
  'no-undo'?: boolean
}

interface HeldLease {
  /** Rejects with `LOCK_LOST` if the program must end. */
  lost: Promise<never>
  /** Makes the program a holder, too: killing stint alone then does not free the workspace. */
  join(pid: number): Promise<void>
}

/** Holds a lease for the run; teardown releases it when the children have ended. */
export async function holdLease(context: CommandContext, options: HoldLeaseOptions): Promise<HeldLease> {
  const sessionId = context.sessionId ?? newSessionId()
  const { resource, store } = options
  const claims = await openClaims({ resource, store }, (message) => context.warn(message))
  const { store: leases, target } = claims
  const claimedPaths = claims.pathsOf(options.path)
  const root = options['no-undo'] ? undefined : repositoryTop(target.path)
  const before = root === undefined ? undefined : await claims.read()
  const purpose = options.purpose && registerEnvironmentSecrets().gate.text(options.purpose)
  const acquiring = acquireLease({
    sessionId,
    store: leases,
    resource,
    paths: options.path,
    ttlMs: options.ttl,
    wait: options.wait,
    purpose,
    signal: context.signal,
  })
  const lease = await announceWait(acquiring, context.quiet, () =>
    claims.findBlocker(requestFor(sessionId, claimedPaths)),
  )
  // A second Ctrl-C may end the process first: then its death frees the claim.
  context.onRelease(async () => {
    await lease.release()
    await claims.activity.written()
  })
  if (root !== undefined && before !== undefined)
    await takePoints(context, claims, before, {
      root,
      sessionId,
      words: purpose,
      paths: claimedPaths.includes('**') ? undefined : claimedPaths,
    })
  Object.assign(process.env, {
    STINT_SESSION_ID: lease.sessionId,
    STINT_FENCE: String(lease.fence),
    ...(target.path === undefined ? {} : { STINT_WORKSPACE: target.path }),
    // The program's own `stint lock` commands must use the same store.
    ...(store === undefined ? {} : { STINT_STORE: store }),
  })
  const lost = new Promise<never>((_, reject) => {
    lease.signal.addEventListener('abort', () => {
      if (options['on-lost'] === 'warn') context.warn(`LOCK_LOST: ${(lease.signal.reason as Error).message}`)
      else reject(lease.signal.reason as Error)
    })
  })
  lost.catch(() => {})
  return {
    lost,
    async join(pid) {
      const child = identify(pid)
      if (child === undefined || (await lease.join(child))) return
      // The lease was lost before the program could join: the check makes the signal abort.
      await lease.check()
    },
  }
}

/** The workspace, if it is the top of a git repository: only there are restore points. */
const repositoryTop = (path: string | undefined): string | undefined =>
  path !== undefined && exists(join(path, '.git')) ? path : undefined

/** Takes a restore point now, and one when the children have ended and the lease still stands. */
async function takePoints(
  context: CommandContext,
  claims: WorkspaceClaims,
  before: Awaited<ReturnType<WorkspaceClaims['read']>>,
  session: Pick<PointRequest, 'root' | 'sessionId' | 'words' | 'paths'>,
): Promise<void> {
  const { isNested, lastActsOf, takePoint } = await import('../../points/index.ts')
  if (isNested((await claims.read()).record, session.sessionId)) return
  const request = { ...session, agent: 'stint run' }
  const lastActs = lastActsOf(before.record, before.observation)
  const outcome = await takePoint({ ...request, kind: 'grant', lastActs })
  if (outcome.outcome === 'off' && outcome.isNews) context.warn(`POINTS_OFF: ${outcome.reason}`)
  if (outcome.outcome === 'failed') context.warn(`POINT_FAILED: ${outcome.reason}`)
  if (outcome.outcome !== 'off')
    context.onCleanup(async () => void (await takePoint({ ...request, kind: 'end' })))
}

/** The request of the lease, complete enough to find the claim that blocks it. */
const requestFor = (sessionId: string, paths: readonly string[]): AcquireRequest => ({
  sessionId,
  holder: null,
  paths,
  mode: 'exclusive',
  forMs: defaultTtlMs,
  descent: () => readDescent(process.pid),
})
