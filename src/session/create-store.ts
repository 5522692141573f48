import { hostname } from 'node:os'
import { setTimeout as delay } from 'node:timers/promises'
import { type Clock, recordClock, systemClock } from '../base/process/clock.ts'
import { durationMs } from '../base/text/duration.ts'
import { newSessionId } from '../base/text/id.ts'
import { errorCode, StintError } from '../base/errors/stint-error.ts'
import { isCount } from '../base/text/fields.ts'
import { checkStrings, createManifest } from './create-manifest.ts'
import { forkByCopying, replay } from './driver-defaults.ts'
import type { HeldSession, ReadableSession, StoreDriver } from './driver.ts'
import { isVisible } from './events.ts'
import { followEvents } from './follow-events.ts'
import { inspectionOf } from './inspection.ts'
import { LiveSession } from './live-session.ts'
import { byLastActivity, factsOf, type Manifest, matchesFilter, newManifest, revised } from './manifest.ts'
import { assertWrittenBy, checkSessionId, copyUnusable } from './session-errors.ts'
import { RegisteredSecrets } from './session-secrets.ts'
import { keyId, namesOf, sessionIdOf, withKey } from './session-name.ts'
import { SharedSessions } from './shared-sessions.ts'
import type { Session } from './session.ts'
import { snapshotPolicy } from './state.ts'
import type {
  CreateOptions,
  ForkOptions,
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

/** A store, with the driver that it stands on. */
export interface DriverStore extends SessionStore {
  readonly driver: StoreDriver
}

/** Makes a store of a driver: adds everything that does not depend on the medium. */
export function createStore(driver: StoreDriver, given: Clock = systemClock): DriverStore {
  const clock = recordClock(given)

  async function sessionOf(
    held: HeldSession,
    secrets: RegisteredSecrets,
    snapshots = snapshotPolicy(),
  ): Promise<Session> {
    const { session_id: id, store } = held.manifest
    try {
      assertWrittenBy(driver.id, id, store)
      return new LiveSession({
        held,
        recovery: held.recovered ?? (await replay(held)),
        secrets,
        snapshots,
        fork: (options) => fork(id, options, secrets),
      })
    } catch (error) {
      await held.release().catch(() => {})
      throw error
    }
  }

  async function read(id: string): Promise<ReadableSession> {
    const session = await driver.read(id)
    assertWrittenBy(driver.id, id, session.manifest.store)
    return session
  }

  async function list(options: ListOptions = {}): Promise<SessionSummary[]> {
    const { newest } = options
    if (newest !== undefined && !isCount(newest))
      throw new StintError('ARG_ERROR', '`newest` of a list of sessions must be a whole number, 0 or more')
    const summaries = (await driver.list(options)).filter((summary) => matchesFilter(summary, options))
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
        revised({ ...newManifest(forkId, driver.id, now), ...names }, now, {
          kind: 'fork',
          ...clean,
          ...(refs.length === 0 ? {} : { secrets: refs }),
          from: { session_id: id, seq },
        }),
      )
    try {
      if (driver.fork === undefined) await forkByCopying(driver, id, at, manifestAt)
      else await driver.fork(id, at, manifestAt)
    } catch (error) {
      // The failure may look like damage because the session was removed while it was read.
      const { created_at: since } = (await driver.read(id)).manifest
      if (since === source.manifest.created_at) throw error
      throw new StintError('NOT_FOUND', `session ${id} was removed meanwhile`, { cause: error })
    }
    try {
      const held = await driver.open(forkId, secrets.holdFor('writer', purpose), secrets.guard)
      return await sessionOf(held, secrets)
    } catch (error) {
      throw copyUnusable(forkId, 'cannot be opened', error)
    }
  }

  async function create(options: CreateOptions = {}): Promise<Session> {
    const secrets = new RegisteredSecrets()
    const manifest = createManifest(driver.id, options, secrets, clock.now())
    const hold = secrets.holdFor('writer', options.purpose)
    const policy = snapshotPolicy(options.snapshots)
    return await sessionOf(await driver.create(manifest, hold, secrets.guard), secrets, policy)
  }

  async function resume(name: SessionName, options: ResumeOptions = {}): Promise<Session> {
    const id = sessionIdOf(name)
    const policy = snapshotPolicy(options.snapshots)
    const secrets = new RegisteredSecrets()
    // The lock record is written first and contains `purpose`: know the secrets before taking the lock.
    if (options.purpose !== undefined) await secrets.applyThoseOf(driver, id)
    const held = await openWithin(driver, id, options, secrets)
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

  /** Made when it is first used: most programs hold their sessions themselves. */
  let shared: SharedSessions | undefined
  const openShared = (id: string, { create, purpose, snapshots }: HoldOptions, wait: ResumeOptions['wait']) =>
    create === undefined
      ? resume(id, { purpose, snapshots, wait })
      : resumeOrCreate(id, { purpose, snapshots, ...create, wait })

  return {
    id: driver.id,
    driver,

    create,
    resume,
    resumeOrCreate,

    hold: (name, options = {}) =>
      (shared ??= new SharedSessions(driver, openShared)).hold(sessionIdOf(name), withKey(name, options)),

    async close() {
      await shared?.close()
    },

    visit: async (name, fn, options = {}) =>
      await visitSession(driver, sessionIdOf(name), fn, withKey(name, options), clock),

    list,

    async *search(pattern, options = {}) {
      const { searchSessions } = await import('./search-sessions.ts')
      yield* searchSessions(driver, await list(options), pattern, options, clock.now())
    },

    inspect: async (name) => inspectionOf(await read(sessionIdOf(name))),

    fork: async (name, options) => await fork(sessionIdOf(name), options),

    unlock: async (name) => await driver.unlock(sessionIdOf(name)),

    async *follow(name, { from = 1, type, all = false, signal } = {}) {
      const inspection = inspectionOf(await read(sessionIdOf(name)))
      for await (const event of followEvents(driver, inspection, { from, signal }))
        if (isVisible(event, type, all)) yield event
    },

    async remove(name, options = {}) {
      await driver.remove(sessionIdOf(name), options)
    },
  }
}

/** Takes a session; while another process holds it, tries again for as long as `wait` says. */
async function openWithin(
  driver: StoreDriver,
  id: string,
  { wait = 0, purpose, signal }: ResumeOptions,
  secrets: RegisteredSecrets,
): Promise<HeldSession> {
  const deadline = systemClock.mono() + durationMs(wait, 'wait')
  for (let wantAt = 0; ;) {
    signal?.throwIfAborted()
    try {
      return await driver.open(id, secrets.holdFor('writer', purpose), secrets.guard)
    } catch (error) {
      if (errorCode(error) !== 'SESSION_LOCKED' || systemClock.mono() >= deadline) throw error
    }
    if (systemClock.mono() >= wantAt) {
      // Without it, the holder gives the session up later.
      await driver.want?.(id).catch(() => {})
      wantAt = systemClock.mono() + wantMs
    }
    await delay(Math.min(retryMs, Math.max(1, deadline - systemClock.mono())), undefined, { signal })
  }
}
