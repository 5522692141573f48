import { hostname } from 'node:os'
import { setTimeout as delay } from 'node:timers/promises'
import { type Clock, systemClock } from '../base/process/clock.ts'
import { durationMs } from '../base/text/duration.ts'
import { newSessionId } from '../base/text/id.ts'
import { errorCode, StintError } from '../base/errors/stint-error.ts'
import type { HeldSession, StoreDriver } from './driver.ts'
import { takeLatest, visibleEvents } from './events.ts'
import { factsOf, type Manifest, newManifest, revised } from './manifest.ts'
import { checkTexts, holdFor, learnSecrets, manifestFor } from './opening.ts'
import { SessionSecrets } from './session-secrets.ts'
import { Session } from './session.ts'
import { defaultPolicy } from './snapshot-policy.ts'
import type { ForkOptions, Inspection, ResumeOptions, SessionStore, SnapshotPolicy } from './store.ts'
import { takeInLeftovers, visitSession } from './visit.ts'
import { guardFor } from './write-guard.ts'

/** How often to look again at a session that is held. */
const lookMs = 50

/** A store over a driver: everything that is the same whatever keeps the sessions. */
export function createStore(driver: StoreDriver, clock: Clock = systemClock): SessionStore {
  function sessionOf(
    held: HeldSession,
    secrets: SessionSecrets,
    snapshots?: Partial<SnapshotPolicy>,
  ): Session {
    const { session_id: id } = held.manifest
    return new Session({
      held,
      secrets,
      snapshots: { ...defaultPolicy, ...snapshots },
      fork: (options) => fork(id, options, secrets),
      released: () => takeInLeftovers(driver, id, secrets),
    })
  }

  /** A fork that a session makes of itself knows what the session knows. */
  async function fork(
    id: string,
    { at, id: forkId = newSessionId(), title, purpose }: ForkOptions = {},
    secrets = new SessionSecrets(),
  ): Promise<Session> {
    checkTexts({ title, purpose })
    const source = await driver.read(id)
    const { secrets: refs, ...facts } = factsOf(source.manifest)
    secrets.resolveAll(refs)
    const now = clock.now()
    const manifestAt = (seq: number): Manifest =>
      revised(newManifest(forkId, driver.id, now), now, {
        kind: 'fork',
        ...facts,
        ...(title === undefined ? {} : { title: secrets.gate.text(title) }),
        ...(refs.length === 0 ? {} : { secrets: refs }),
        from: { session_id: id, seq },
      })
    try {
      await driver.fork(id, at, forkId, manifestAt)
    } catch (error) {
      // It may have been removed while it was read: that is no damage.
      const { created_at: since } = (await driver.read(id)).manifest
      if (since === source.manifest.created_at) throw error
      throw new StintError('NOT_FOUND', `session ${id} was removed meanwhile`, { cause: error })
    }
    const held = await driver.open(forkId, holdFor('writer', purpose, secrets), guardFor(secrets.gate))
    return sessionOf(held, secrets)
  }

  const store: SessionStore = {
    id: driver.id,

    async create(options = {}) {
      const secrets = new SessionSecrets()
      const manifest = manifestFor(driver.id, options, secrets, clock.now())
      const held = await driver.create(
        manifest,
        holdFor('writer', options.purpose, secrets),
        guardFor(secrets.gate),
      )
      return sessionOf(held, secrets, options.snapshots)
    },

    async resume(id, options = {}) {
      const secrets = new SessionSecrets()
      // The lock is the first that is written, and shows it.
      if (options.purpose !== undefined) await learnSecrets(driver, id, secrets)
      const held = await openWaiting(driver, id, options, secrets)
      const session = sessionOf(held, secrets, options.snapshots)
      try {
        secrets.resolveAll(factsOf(held.manifest).secrets)
        await held.revise({ kind: 'resume', pid: process.pid, host: hostname() })
        return session
      } catch (error) {
        await session.close().catch(() => {})
        throw error
      }
    },

    visit: (id, fn, options) => visitSession(driver, id, fn, options, clock),

    list: (options = {}) => driver.list(options),

    async inspect(id) {
      const session = await driver.read(id)
      const inspection: Inspection = {
        summary: session.summary,
        manifest: session.manifest,
        health: (onBytes) => session.verify(onBytes),
        events: (options = {}) => visibleEvents((range) => session.events(range), options),
        tail: (count, options) => takeLatest(session.eventsBackwards(), count, options),
        audit: () => session.audit(),
        unsettled: async () => [...(await session.state()).unsettled.values()],
        async slots() {
          const { slots } = await session.state()
          return Object.fromEntries([...slots].map(([ext, { version, value }]) => [ext, { version, value }]))
        },
      }
      return inspection
    },

    fork: (id, options) => fork(id, options),
    unlock: (id) => driver.unlock(id),
    remove: (id) => driver.remove(id),
  }
  return store
}

async function openWaiting(
  driver: StoreDriver,
  id: string,
  { wait = 0, purpose, signal }: ResumeOptions,
  secrets: SessionSecrets,
): Promise<HeldSession> {
  const deadline = systemClock.mono() + durationMs(wait, 'wait')
  for (;;) {
    signal?.throwIfAborted()
    try {
      return await driver.open(id, holdFor('writer', purpose, secrets), guardFor(secrets.gate))
    } catch (error) {
      if (errorCode(error) !== 'SESSION_LOCKED' || systemClock.mono() >= deadline) throw error
    }
    await delay(Math.min(lookMs, Math.max(1, deadline - systemClock.mono())), undefined, { signal })
  }
}
