import { hostname } from 'node:os'
import { setTimeout as delay } from 'node:timers/promises'
import { type Clock, recordClock, systemClock } from '../base/process/clock.ts'
import { durationMs } from '../base/text/duration.ts'
import { newSessionId } from '../base/text/id.ts'
import { errorCode, StintError } from '../base/errors/stint-error.ts'
import { isCount } from '../base/text/fields.ts'
import { checkStrings, createManifest } from './create-manifest.ts'
import { forkSession } from './copy-session.ts'
import { isVisible } from './events.ts'
import { followEvents } from './follow-events.ts'
import { inspectionOf } from './inspection.ts'
import { LiveSession } from './live-session.ts'
import { byLastActivity, factsOf, type Manifest, matchesFilter, newManifest, revised } from './manifest.ts'
import type { Medium, ReadableMedium } from './medium.ts'
import { assertWrittenBy, checkSessionId, copyUnusable } from './session-errors.ts'
import {
  createLog,
  defaultLimits,
  type LogContext,
  type LogLimits,
  openLog,
  type SessionLog,
} from './session-log.ts'
import { RegisteredSecrets } from './session-secrets.ts'
import { keyId, namesOf, sessionIdOf, withKey } from './session-name.ts'
import { SharedSessions } from './shared-sessions.ts'
import type { Session } from './session.ts'
import { snapshotPolicy } from './state.ts'
import type {
  CreateOptions,
  ForkOptions,
  Holder,
  HoldOptions,
  ListOptions,
  ResumeOptions,
  SessionName,
  SessionStore,
  SessionSummary,
} from './store.ts'
import { visitSession } from './visit.ts'

/** How often to try again while another process holds the session, in milliseconds. */
const retryMs = 50
/** How often to tell the holder that this process waits: it forgets that when it gives the session up. */
const wantMs = 500
/** How often `resumeOrCreate` loses against processes that create and remove the session. */
const maxAttempts = 20

/** A store, with the medium that it stands on. */
export interface MediumStore<M extends Medium = Medium> extends SessionStore {
  readonly medium: M
}

/** Makes a store of a medium: adds everything that does not depend on it. Tests make the limits small. */
export function createStore<M extends Medium>(
  medium: M,
  given: Clock = systemClock,
  limits: LogLimits = defaultLimits,
): MediumStore<M> {
  const clock = recordClock(given)
  const contextOf = (secrets: RegisteredSecrets): LogContext => ({ clock, secrets, limits })

  async function sessionOf(
    held: SessionLog,
    secrets: RegisteredSecrets,
    snapshots = snapshotPolicy(),
  ): Promise<Session> {
    const { session_id: id, store } = held.manifest
    try {
      assertWrittenBy(medium.id, id, store)
      return new LiveSession({
        held,
        secrets,
        snapshots,
        fork: (options) => fork(id, options, secrets),
      })
    } catch (error) {
      await held.release().catch(() => {})
      throw error
    }
  }

  async function read(id: string): Promise<ReadableMedium> {
    const session = await medium.read(id)
    assertWrittenBy(medium.id, id, session.manifest.store)
    return session
  }

  async function list(options: ListOptions = {}): Promise<SessionSummary[]> {
    const { newest } = options
    if (newest !== undefined && !isCount(newest))
      throw new StintError('ARG_ERROR', '`newest` of a list of sessions must be a whole number, 0 or more')
    const summaries = (await medium.list(options)).filter((summary) => matchesFilter(summary, options))
    return summaries.sort(byLastActivity).slice(0, newest)
  }

  /** Takes the secrets that a session knows along, when it forks itself. */
  async function fork(
    id: string,
    {
      at,
      key,
      id: forkId = key === undefined ? newSessionId() : keyId(key),
      title,
      purpose,
      secrets: known = [],
    }: ForkOptions = {},
    secrets = new RegisteredSecrets(),
  ): Promise<Session> {
    checkStrings({ title, purpose })
    checkSessionId(forkId)
    const source = await read(id)
    const { secrets: refs, ...facts } = factsOf(source.manifest)
    secrets.registerAll(known)
    secrets.apply({ secrets: refs, mask: facts.mask })
    const now = clock.now()
    const names = namesOf({ id: forkId, key, labels: source.manifest.labels }, secrets.gate)
    // The source may have been written by a process that did not know these secrets.
    const clean = JSON.parse(secrets.gate.stringify({ ...facts, title: title ?? facts.title })) as object
    const manifestAt = (seq: number): Manifest =>
      secrets.checkedManifest(
        revised({ ...newManifest(forkId, medium.id, now), ...names }, now, {
          kind: 'fork',
          ...clean,
          ...(refs.length === 0 ? {} : { secrets: refs }),
          from: { session_id: id, seq },
        }),
      )
    try {
      await forkSession(medium, id, at, manifestAt)
    } catch (error) {
      // The failure may look like damage because the session was removed while it was read.
      const { created_at: since } = (await medium.read(id)).manifest
      if (since === source.manifest.created_at) throw error
      throw new StintError('NOT_FOUND', `session ${id} was removed meanwhile`, { cause: error })
    }
    try {
      const hold = secrets.holdFor('writer', purpose)
      return await sessionOf(await openLog(medium, forkId, hold, contextOf(secrets)), secrets)
    } catch (error) {
      throw copyUnusable(forkId, 'cannot be opened', error)
    }
  }

  async function create(options: CreateOptions = {}): Promise<Session> {
    const secrets = new RegisteredSecrets()
    const manifest = createManifest(medium.id, options, secrets, clock.now())
    const hold = secrets.holdFor('writer', options.purpose)
    const policy = snapshotPolicy(options.snapshots)
    return await sessionOf(await createLog(medium, manifest, hold, contextOf(secrets)), secrets, policy)
  }

  async function resume(name: SessionName, options: ResumeOptions = {}): Promise<Session> {
    const id = sessionIdOf(name)
    const policy = snapshotPolicy(options.snapshots)
    const secrets = new RegisteredSecrets()
    // The lock record is written first and contains `purpose`: know the secrets before taking the lock.
    if (options.purpose !== undefined) await secrets.applyThoseOf(medium, id)
    const held = await openWithin(medium, id, options, secrets, contextOf(secrets))
    const session = await sessionOf(held, secrets, policy)
    try {
      secrets.apply(factsOf(held.manifest))
      await held.revise({ kind: 'resume', pid: process.pid, host: hostname() })
      return session
    } catch (error) {
      await session.close().catch(() => {})
      throw error
    }
  }

  const resumeOrCreate: SessionStore['resumeOrCreate'] = async (name, options = {}) => {
    const id = sessionIdOf(name)
    const { create: creating = {} } = withKey(name, { create: options })
    for (let attempt = 1; ; attempt++) {
      try {
        return await resume(id, options)
      } catch (error) {
        if (errorCode(error) !== 'NOT_FOUND') throw error
      }
      try {
        return await create({ ...creating, id })
      } catch (error) {
        // Another process was faster: resume what it has created, unless that cannot be found at all.
        if (errorCode(error) !== 'NAME_TAKEN' || attempt === maxAttempts) throw error
      }
    }
  }

  /** Recovers the session and closes its logs, as its holder would have done. */
  async function unlock(id: string): Promise<Holder | undefined> {
    if ((await read(id)).summary.holder === undefined) return undefined
    const secrets = new RegisteredSecrets()
    const hold = { kind: 'writer', purpose: 'unlock', force: true } as const
    const held = await openLog(medium, id, hold, contextOf(secrets))
    await held.release()
    // The holder that has lost the session: another one may have taken it since the first look.
    return held.recovered.report.tookOverFrom
  }

  /** Made when it is first used: most programs hold their sessions themselves. */
  let shared: SharedSessions | undefined
  const openShared = (id: string, { create, purpose, snapshots }: HoldOptions, wait: ResumeOptions['wait']) =>
    create === undefined
      ? resume(id, { purpose, snapshots, wait })
      : resumeOrCreate(id, { purpose, snapshots, ...create, wait })

  return {
    id: medium.id,
    medium,

    create,
    resume,
    resumeOrCreate,

    hold: (name, options = {}) =>
      (shared ??= new SharedSessions(medium, openShared)).hold(sessionIdOf(name), withKey(name, options)),

    async close() {
      await shared?.close()
    },

    visit: async (name, fn, options = {}) =>
      await visitSession(medium, sessionIdOf(name), fn, withKey(name, options), { clock, limits }),

    list,

    async *search(pattern, options = {}) {
      const { searchSessions } = await import('./search-sessions.ts')
      yield* searchSessions(medium, await list(options), pattern, options, clock.now())
    },

    inspect: async (name) => inspectionOf(await read(sessionIdOf(name))),

    fork: async (name, options) => await fork(sessionIdOf(name), options),

    unlock: async (name) => await unlock(sessionIdOf(name)),

    async *follow(name, { from = 1, type, all = false, signal } = {}) {
      const inspection = inspectionOf(await read(sessionIdOf(name)))
      for await (const event of followEvents(medium, inspection, { from, signal }))
        if (isVisible(event, type, all)) yield event
    },

    async remove(name, options = {}) {
      await medium.remove(sessionIdOf(name), options)
    },
  }
}

/** Takes a session; while another process holds it, tries again for as long as `wait` says. */
async function openWithin(
  medium: Medium,
  id: string,
  { wait = 0, purpose, signal }: ResumeOptions,
  secrets: RegisteredSecrets,
  context: LogContext,
): Promise<SessionLog> {
  const deadline = systemClock.mono() + durationMs(wait, 'wait')
  for (let wantAt = 0; ;) {
    signal?.throwIfAborted()
    try {
      return await openLog(medium, id, secrets.holdFor('writer', purpose), context)
    } catch (error) {
      if (errorCode(error) !== 'SESSION_LOCKED' || systemClock.mono() >= deadline) throw error
    }
    if (systemClock.mono() >= wantAt) {
      // Without it, the holder gives the session up later.
      await medium.want(id).catch(() => {})
      wantAt = systemClock.mono() + wantMs
    }
    await delay(Math.min(retryMs, Math.max(1, deadline - systemClock.mono())), undefined, { signal })
  }
}
