import { hostname } from 'node:os'
import { setTimeout as delay } from 'node:timers/promises'
import { errorCode, StintError } from '../base/errors/stint-error.ts'
import { type Clock, recordClock, systemClock } from '../base/process/clock.ts'
import { durationMs } from '../base/text/duration.ts'
import { isCount } from '../base/text/fields.ts'
import { forkSession } from './copy-session.ts'
import { createManifest, forkManifest, sessionIdOf, withKey } from './create-manifest.ts'
import { RegisteredSecrets } from './entries.ts'
import { followEvents, inspectionOf } from './inspection.ts'
import { LiveSession } from './live-session.ts'
import { byLastActivity, factsOf, matchesFilter } from './manifest.ts'
import type { Medium, ReadableMedium } from './medium.ts'
import type { DamagedSession } from './repair.ts'
import { assertWrittenBy, copyUnusable } from './session-errors.ts'
import {
  createSessionLog,
  defaultLimits,
  type LogContext,
  type LogLimits,
  openSessionLog,
  type SessionLog,
} from './session-log.ts'
import type { Session } from './session.ts'
import { SharedSessions } from './shared-sessions.ts'
import { snapshotPolicy } from './state.ts'
import type {
  CreateOptions,
  FollowOptions,
  ForkOptions,
  FoundEvent,
  Holder,
  HoldOptions,
  Inspection,
  ListOptions,
  RemoveOptions,
  ResumeOptions,
  SearchOptions,
  SessionEvent,
  SessionName,
  SessionStore,
  SessionSummary,
  SharedSession,
  Visit,
  VisitOptions,
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

/** What the commands need of the media that stint comes with, besides the contract of every medium. */
export interface BuiltInMedium extends Medium {
  /** All ids, or those that begin with `prefix` or `ses_<prefix>`, sorted; nothing else is read. */
  ids(prefix: string): Promise<string[]>
  /** The sessions that were removed and can be brought back, newest removal first. */
  removed(): Promise<RemovedSession[]>
  /** Brings a removed session back, and returns its id. `NOT_FOUND`, `NAME_TAKEN`. */
  restore(name: string): Promise<string>
  /** Undefined if the sessions are not in files. */
  readonly files: SessionFiles | undefined
}

/** A store that the command line can open. */
export type BuiltInStore = MediumStore<BuiltInMedium>

/** What only a medium of plain files has. */
export interface SessionFiles {
  /** The directory of removed sessions, until the sweep deletes them. */
  readonly trash: string
  /** The directory of a session. */
  path(id: string): string
  /** The paths of everything that was cut off or set aside. */
  quarantined(id: string): string[]
  /** Opens a session whose manifest may be damaged. `NOT_FOUND`. */
  readDamaged(id: string): Promise<DamagedSession>
}

/** A session that was removed, and not deleted yet. */
export interface RemovedSession {
  /** Identifies it among the removed ones: several may have had the same id. */
  name: string
  id: string
  title?: string
  /** Milliseconds since the epoch. */
  removedAt: number
}

/** Makes a store of a medium: adds everything that does not depend on it. Tests make the limits small. */
export const createStore = <M extends Medium>(
  medium: M,
  clock: Clock = systemClock,
  limits: LogLimits = defaultLimits,
): MediumStore<M> => new Store(medium, { clock: recordClock(clock), limits })

class Store<M extends Medium> implements MediumStore<M> {
  readonly medium: M
  readonly #context: Omit<LogContext, 'secrets'>
  /** Made when it is first used: most programs hold their sessions themselves. */
  #shared: SharedSessions | undefined

  constructor(medium: M, context: Omit<LogContext, 'secrets'>) {
    this.medium = medium
    this.#context = context
  }

  get id(): string {
    return this.medium.id
  }

  async create(options: CreateOptions = {}): Promise<Session> {
    const secrets = new RegisteredSecrets()
    const manifest = createManifest(this.id, options, secrets, this.#context.clock.now())
    const hold = secrets.holdFor('writer', options.purpose)
    const policy = snapshotPolicy(options.snapshots)
    const held = await createSessionLog(this.medium, manifest, hold, { ...this.#context, secrets })
    return await this.#sessionOf(held, secrets, policy)
  }

  async resume(name: SessionName, options: ResumeOptions = {}): Promise<Session> {
    const id = sessionIdOf(name)
    const policy = snapshotPolicy(options.snapshots)
    const secrets = new RegisteredSecrets()
    // The lock record is written first and contains `purpose`: know the secrets before taking the lock.
    if (options.purpose !== undefined) await secrets.applyThoseOf(this.medium, id)
    const held = await openWithin(this.medium, id, options, secrets, { ...this.#context, secrets })
    const session = await this.#sessionOf(held, secrets, policy)
    try {
      secrets.apply(factsOf(held.manifest))
      await held.revise({ kind: 'resume', pid: process.pid, host: hostname() })
      return session
    } catch (error) {
      await session.close().catch(() => {})
      throw error
    }
  }

  async resumeOrCreate(
    name: SessionName,
    options: ResumeOptions & Omit<CreateOptions, 'id' | 'key'> = {},
  ): Promise<Session> {
    const id = sessionIdOf(name)
    const { create } = withKey(name, { create: options })
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.resume(id, options)
      } catch (error) {
        if (errorCode(error) !== 'NOT_FOUND') throw error
      }
      try {
        return await this.create({ ...create, id })
      } catch (error) {
        // Another process was faster: resume what it has created, unless that cannot be found at all.
        if (errorCode(error) !== 'NAME_TAKEN' || attempt === maxAttempts) throw error
      }
    }
  }

  async #sessionOf(
    held: SessionLog,
    secrets: RegisteredSecrets,
    snapshots = snapshotPolicy(),
  ): Promise<Session> {
    const { session_id: id, store } = held.manifest
    try {
      assertWrittenBy(this.id, id, store)
      return new LiveSession({
        held,
        secrets,
        snapshots,
        fork: (options) => this.#fork(id, options, secrets),
      })
    } catch (error) {
      await held.release().catch(() => {})
      throw error
    }
  }

  hold(name: SessionName, options: HoldOptions = {}): SharedSession {
    this.#shared ??= new SharedSessions(this.medium, (id, { create, purpose, snapshots }, wait) =>
      create === undefined
        ? this.resume(id, { purpose, snapshots, wait })
        : this.resumeOrCreate(id, { purpose, snapshots, ...create, wait }),
    )
    return this.#shared.hold(sessionIdOf(name), withKey(name, options))
  }

  async close(): Promise<void> {
    await this.#shared?.close()
  }

  async visit<T>(
    name: SessionName,
    fn: (visit: Visit) => Promise<T> | T,
    options: VisitOptions = {},
  ): Promise<T> {
    return await visitSession(this.medium, sessionIdOf(name), fn, withKey(name, options), this.#context)
  }

  async list(options: ListOptions = {}): Promise<SessionSummary[]> {
    const { newest } = options
    if (newest !== undefined && !isCount(newest))
      throw new StintError('ARG_ERROR', '`newest` of a list of sessions must be a whole number, 0 or more')
    const summaries = (await this.medium.list(options)).filter((summary) => matchesFilter(summary, options))
    return summaries.sort(byLastActivity).slice(0, newest)
  }

  async *search(pattern: string | RegExp, options: SearchOptions = {}): AsyncGenerator<FoundEvent> {
    const { searchSessions } = await import('./search-sessions.ts')
    const sessions = await this.list(options)
    yield* searchSessions(this.medium, sessions, pattern, options, this.#context.clock.now())
  }

  async inspect(name: SessionName): Promise<Inspection> {
    return inspectionOf(await this.#read(sessionIdOf(name)))
  }

  async *follow(name: SessionName, options: FollowOptions = {}): AsyncGenerator<SessionEvent> {
    yield* followEvents(this.medium, await this.#read(sessionIdOf(name)), options)
  }

  async #read(id: string): Promise<ReadableMedium> {
    const session = await this.medium.read(id)
    assertWrittenBy(this.id, id, session.manifest.store)
    return session
  }

  async fork(name: SessionName, options: ForkOptions = {}): Promise<Session> {
    return await this.#fork(sessionIdOf(name), options, new RegisteredSecrets())
  }

  /** Takes the secrets that a session knows along, when it forks itself. */
  async #fork(id: string, options: ForkOptions, secrets: RegisteredSecrets): Promise<Session> {
    const { manifest: original } = await this.#read(id)
    const manifest = forkManifest(original, this.id, options, secrets, this.#context.clock.now())
    try {
      await forkSession(this.medium, id, options.at, manifest)
    } catch (error) {
      // The failure may look like damage because the session was removed while it was read.
      const { created_at: since } = (await this.medium.read(id)).manifest
      if (since === original.created_at) throw error
      throw new StintError('NOT_FOUND', `session ${id} was removed meanwhile`, { cause: error })
    }
    try {
      const hold = secrets.holdFor('writer', options.purpose)
      const held = await openSessionLog(this.medium, manifest.session_id, hold, { ...this.#context, secrets })
      return await this.#sessionOf(held, secrets)
    } catch (error) {
      throw copyUnusable(manifest.session_id, 'cannot be opened', error)
    }
  }

  /** Recovers the session and closes its logs, as its holder would have done. */
  async unlock(name: SessionName): Promise<Holder | undefined> {
    const id = sessionIdOf(name)
    if ((await this.#read(id)).summary.holder === undefined) return undefined
    const hold = { kind: 'writer', purpose: 'unlock', force: true } as const
    const context = { ...this.#context, secrets: new RegisteredSecrets() }
    const held = await openSessionLog(this.medium, id, hold, context)
    await held.release()
    // The holder that has lost the session: another one may have taken it since the first look.
    return held.recovered.report.tookOverFrom
  }

  async remove(name: SessionName, options: RemoveOptions = {}): Promise<void> {
    await this.medium.remove(sessionIdOf(name), options)
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
      return await openSessionLog(medium, id, secrets.holdFor('writer', purpose), context)
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
