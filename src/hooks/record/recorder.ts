import { errorMessage, StintError } from '../../base/errors/stint-error.ts'
import { stintHome } from '../../base/fs/home.ts'
import { newSessionId } from '../../base/text/id.ts'
import { acquireLease, homeStore, type Lease } from '../../lease/index.ts'
import { readPrompt } from '../session-prompt.ts'
import { type KnownSecret, registerEnvironmentSecrets } from '../../secrets/index.ts'
import { filesystemStore, type SessionStore } from '../../session/index.ts'
import { noteWarning } from '../hook-log.ts'
import {
  type CallRecords,
  type QueueEntry,
  queuedFiles,
  queueIdOf,
  readQueued,
  removeAbandonedFiles,
} from './queue.ts'

/** Writes the queued calls in a process of its own, or in the background of one that lives on. */
export const recordInBackground = (): Promise<unknown> =>
  drainQueue().catch((error: unknown) =>
    noteWarning({ agent: '', event: 'record', warning: errorMessage(error) }),
  )

/** Writes the queued calls into their sessions, each once, and creates missing ones. Returns the number. */
export async function drainQueue(env: NodeJS.ProcessEnv = process.env): Promise<number> {
  const home = stintHome(env)
  const tried = new Set<string>()
  let written = 0
  // A recorder that starts while this one holds the lease exits at once, so check the queue again.
  while (queuedFiles(home).some((name) => !tried.has(queueIdOf(name)))) {
    const lease = await tryLease(env)
    if (lease === undefined) return written
    try {
      removeAbandonedFiles(home, Date.now())
      written += await drain(home, env, lease, tried)
    } finally {
      await lease.release()
    }
  }
  return written
}

/** Admits one recorder at a time, so that the calls of a session are written in order. */
async function tryLease(env: NodeJS.ProcessEnv): Promise<Lease | undefined> {
  try {
    return await acquireLease({
      resource: 'stint:hook-queue',
      sessionId: newSessionId(),
      purpose: 'stint-hook --record',
      ttlMs: 60_000,
      store: homeStore(env),
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
  const store = filesystemStore({ home })
  const { secrets } = registerEnvironmentSecrets(env)
  const failed = new Set<string>()
  let written = 0
  for (const name of queuedFiles(home)) {
    if (tried.has(queueIdOf(name))) continue
    // This process may have been suspended for so long that another recorder has taken the lease.
    if (!(await lease.check())) break
    tried.add(queueIdOf(name))
    let entry: QueueEntry | undefined
    try {
      entry = readQueued(home, name)
      // Later calls of a session wait with the one that failed, to keep their order.
      if (entry === undefined || failed.has(entry.call.session)) continue
      await write(store, entry, secrets, env)
      written += 1
    } catch (error) {
      const { session, tool = '', event } = entry?.call ?? {}
      if (session !== undefined) failed.add(session)
      noteWarning({ agent: tool, event: event?.type ?? name, session, warning: errorMessage(error) }, env)
    }
  }
  return written
}

async function write(
  store: SessionStore,
  { id, call, again, begin, done }: QueueEntry,
  secrets: KnownSecret[],
  env: NodeJS.ProcessEnv,
): Promise<void> {
  const { session, tool, workspace } = call
  // Most sessions are known by what they were first asked.
  const title = readPrompt(session, env)
  const { event, audit } = marked(call, id)
  begin()
  await store.visit(
    session,
    async (visit) => {
      const present = again ? await findMark(store, session, id) : undefined
      if (!present?.has('audit')) await visit.audit(audit)
      if (!present?.has('journal')) await visit.append(event)
    },
    { create: { tool, workspace, title, mask: 'tokens' }, secrets, mask: 'tokens' },
  )
  done()
}

/** Adds the mark by which `findMark` finds the records, and says in which of them secrets were replaced. */
export const marked = (
  { event, audit, masked }: CallRecords & { masked: boolean },
  mark: string,
): CallRecords => ({
  event: { ...event, data: { ...(event.data as object), mark }, masked: masked && hasPlaceholder(event) },
  audit: {
    ...audit,
    detail: { ...(audit.detail as object | undefined), mark },
    masked: masked && hasPlaceholder(audit),
  },
})

/** Both records of a call come from the same event, but a secret in its input may be in one of them only. */
const hasPlaceholder = (record: object): boolean => /<(?:secret|masked)[:>]/.test(JSON.stringify(record))

type Log = 'journal' | 'audit'

/** The logs that contain a record with this mark: an earlier recorder may have died after writing it. */
async function findMark(store: SessionStore, session: string, mark: string): Promise<Set<Log>> {
  const logs = new Set<Log>()
  const { events, audit } = await store.inspect(session)
  for await (const { data } of events()) if (markOf(data) === mark) logs.add('journal')
  for await (const { detail } of audit()) if (markOf(detail) === mark) logs.add('audit')
  return logs
}

const markOf = (value: unknown): unknown => (value as { mark?: unknown } | null | undefined)?.mark
