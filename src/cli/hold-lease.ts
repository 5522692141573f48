import type { Context } from '../command/context.ts'
import { defaultTtlMs, wholeWorkspace } from '../lease/claim.ts'
import { acquireLease } from '../lease/lease.ts'
import { claimPaths } from '../lease/workspace.ts'
import { newSessionId } from '../primitives/id.ts'
import { identify } from '../primitives/liveness.ts'
import { announceWait } from './lock/announce-wait.ts'
import { openBook } from './lock/book.ts'

export interface HoldOptions {
  path: readonly string[]
  ttl: number | undefined
  wait: number | undefined
  purpose: string | undefined
  'on-lost': 'kill' | 'warn' | undefined
}

export interface HeldLease {
  /** Rejects with `LOCK_LOST` if the program must not go on. */
  lost: Promise<never>
  /** The program holds it, too: killing stint alone does not free the workspace. */
  join(pid: number): Promise<void>
}

/** Holds a lease as long as the run lasts: it is given back when its children are gone. */
export async function holdLease(context: Context, options: HoldOptions): Promise<HeldLease> {
  const sessionId = context.sessionId ?? newSessionId()
  const acquiring = acquireLease({
    sessionId,
    paths: options.path,
    ttlMs: options.ttl,
    wait: options.wait,
    purpose: options.purpose,
    signal: context.signal,
  })
  const lease = await announceWait(acquiring, () => wantedBy(sessionId, options.path))
  context.onRelease(() => lease.releaseSync())
  Object.assign(process.env, {
    STINT_SESSION_ID: lease.sessionId,
    STINT_WORKSPACE: lease.workspace,
    STINT_FENCE: String(lease.fence),
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

/** What is asked for, as the rules see it: enough to find out who stands in its way. */
function wantedBy(sessionId: string, path: readonly string[]) {
  const book = openBook(undefined)
  const paths = path.length === 0 ? wholeWorkspace : claimPaths(book.workspace, path)
  const request = { sessionId, holder: null, paths, mode: 'exclusive' as const, ttlMs: defaultTtlMs }
  return { book, request }
}
