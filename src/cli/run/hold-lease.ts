import type { CommandContext } from '../../command/context.ts'
import { acquireLease, type AcquireRequest, defaultTtlMs, type Lease } from '../../lease/index.ts'
import { newSessionId } from '../../base/text/id.ts'
import { identify } from '../../base/process/liveness.ts'
import { registerEnvironmentSecrets } from '../../secrets/index.ts'
import { announceWait } from '../lock/announce-wait.ts'
import { openClaims } from '../lock/lock-options.ts'

export interface HoldOptions {
  path: readonly string[]
  ttl: number | undefined
  wait: number | undefined
  purpose: string | undefined
  'on-lost': 'kill' | 'warn' | undefined
  resource?: string
  store?: string
}

export interface HeldLease {
  /** Rejects with `LOCK_LOST` if the program must not go on. */
  lost: Promise<never>
  /** The program holds it, too: killing stint alone does not free the workspace. */
  join(pid: number): Promise<void>
}

/** Holds a lease as long as the run lasts: it is given back when its children are gone. */
export async function holdLease(context: CommandContext, options: HoldOptions): Promise<HeldLease> {
  const sessionId = context.sessionId ?? newSessionId()
  const { resource, store } = options
  const claims = await openClaims({ resource, store }, (message) => context.warn(message))
  const { register, target } = claims
  const acquiring = acquireLease({
    sessionId,
    register,
    resource,
    paths: options.path,
    ttlMs: options.ttl,
    wait: options.wait,
    purpose: options.purpose && registerEnvironmentSecrets().gate.text(options.purpose),
    signal: context.signal,
  })
  const lease = await announceWait(acquiring, context.quiet, () =>
    claims.findBlocker(wanted(sessionId, claims.pathsOf(options.path))),
  )
  // At a second Ctrl-C only what needs no waiting is done.
  context.onRelease(
    register.performSync === undefined ? () => giveBack(lease) : () => void lease.releaseSync(),
  )
  Object.assign(process.env, {
    STINT_SESSION_ID: lease.sessionId,
    STINT_FENCE: String(lease.fence),
    ...(target.path === undefined ? {} : { STINT_WORKSPACE: target.path }),
    // What the program asks about its lease is asked of the same store.
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
      // Whoever may not join holds it no more; a look tells it to everybody who listens.
      await lease.check()
    },
  }
}

async function giveBack(lease: Lease): Promise<void> {
  await lease.release()
}

/** What is asked for, as the rules see it: enough to find out who stands in its way. */
const wanted = (sessionId: string, paths: readonly string[]): AcquireRequest => ({
  sessionId,
  holder: null,
  paths,
  mode: 'exclusive',
  ttlMs: defaultTtlMs,
})
