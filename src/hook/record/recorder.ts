import { acquireLease, homeRegister, type Lease } from '../../lease/index.ts'
import { stintHome } from '../../base/fs/home.ts'
import { newSessionId } from '../../base/text/id.ts'
import { errorMessage, StintError } from '../../base/errors/stint-error.ts'
import { registerEnvironmentSecrets } from '../../secrets/index.ts'
import { createStore, type DriverStore, FilesystemDriver, type VisitOptions } from '../../session/index.ts'
import { noteWarning } from '../hook-log.ts'
import { alreadyIn, marked } from './already-recorded.ts'
import { idOf, type Queued, readQueued, removeAbandoned, waitingIn } from './queue.ts'

/**
 * Writes what waits into the sessions it belongs to, each record once; a session that does not exist yet is
 * made.
 */
export async function drainQueue(env: NodeJS.ProcessEnv = process.env): Promise<number> {
  const home = stintHome(env)
  const tried = new Set<string>()
  let written = 0
  // What comes while this one is at it has its own recorder go at once: so who has written looks again.
  while (waitingIn(home).some((name) => !tried.has(idOf(name)))) {
    const lease = await tryLease(env)
    if (lease === undefined) return written
    try {
      removeAbandoned(home, Date.now())
      written += await drain(home, env, lease, tried)
    } finally {
      await lease.release()
    }
  }
  return written
}

/** One recorder at a time: what comes after another must not get into its session before it. */
async function tryLease(env: NodeJS.ProcessEnv): Promise<Lease | undefined> {
  try {
    return await acquireLease({
      resource: 'stint:hook-queue',
      sessionId: newSessionId(),
      purpose: 'stint-hook --record',
      ttlMs: 60_000,
      register: homeRegister(env),
    })
  } catch (error) {
    if (error instanceof StintError && error.code === 'LOCK_HELD') return undefined
    throw error
  }
}

async function drain(
  home: string,
  env: NodeJS.ProcessEnv,
  lease: Lease,
  tried: Set<string>,
): Promise<number> {
  const store = createStore(new FilesystemDriver({ home }))
  const { secrets } = registerEnvironmentSecrets(env)
  const failed = new Set<string>()
  let written = 0
  for (const name of waitingIn(home)) {
    if (tried.has(idOf(name))) continue
    // It was stopped for so long that another is at it.
    if (!(await lease.check())) break
    tried.add(idOf(name))
    let queued: Queued | undefined
    try {
      queued = readQueued(home, name)
      // What comes after one that failed waits with it.
      if (queued === undefined || failed.has(queued.waiting.session)) continue
      await write(store, queued, secrets)
      written += 1
    } catch (error) {
      const { session, tool = '', event } = queued?.waiting ?? {}
      if (session !== undefined) failed.add(session)
      noteWarning({ agent: tool, event: event?.type ?? name, session, warning: errorMessage(error) }, env)
    }
  }
  return written
}

async function write(
  store: DriverStore,
  { id, waiting, again, begin, done }: Queued,
  secrets: VisitOptions['secrets'],
): Promise<void> {
  const { session, tool, workspace } = waiting
  const { event, audit } = marked(waiting, id)
  begin()
  await store.visit(
    session,
    async (visit) => {
      const has = again ? await alreadyIn(store, session, id) : undefined
      if (!has?.has('audit')) await visit.audit(audit)
      if (!has?.has('journal')) await visit.append(event)
    },
    { create: { tool, ...(workspace === undefined ? {} : { workspace }) }, secrets },
  )
  done()
}
