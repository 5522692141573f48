import { setTimeout as delay } from 'node:timers/promises'
import { type Clock, systemClock } from '../base/process/clock.ts'
import { errorCode } from '../base/errors/stint-error.ts'
import { durationMs } from '../base/text/duration.ts'
import type { Entry, HeldSession, Hold, SpoolEntry, StoreDriver, WriteGuard } from './driver.ts'
import { factsOf, type Manifest } from './manifest.ts'
import { auditEntry, eventEntry } from './new-entry.ts'
import { holdFor, learnSecrets, manifestFor } from './opening.ts'
import { SessionSecrets } from './session-secrets.ts'
import { takeAudit } from './state.ts'
import type { Visit, VisitOptions } from './store.ts'
import { trySnapshot } from './take-snapshot.ts'
import { guardFor } from './write-guard.ts'

const defaultWaitMs = 2000
const lookMs = 10

/** Writes a few records into a session, whoever holds it. */
export async function visitSession<T>(
  driver: StoreDriver,
  id: string,
  fn: (visit: Visit) => Promise<T> | T,
  options: VisitOptions = {},
  clock: Clock = systemClock,
): Promise<T> {
  const secrets = new SessionSecrets()
  secrets.registerAll(options.secrets ?? [])
  // The lock is the first that is written, and shows it.
  if (options.purpose !== undefined) await learnSecrets(driver, id, secrets)
  const held = await enter(driver, id, options, secrets, clock)
  try {
    if (held === undefined) {
      await learnSecrets(driver, id, secrets)
      return await fn(spooling(driver, id, secrets))
    }
    secrets.resolveAll(factsOf(held.manifest).secrets)
    await held.takeSpool((record) => takeAudit(held.state, record))
    if (held.snapshotDue) await trySnapshot(held, secrets.gate)
    return await fn(direct(held, secrets))
  } finally {
    await held?.release()
    await takeInLeftovers(driver, id, secrets)
  }
}

/** Takes in what was left while its holder went: whoever leaves something and whoever goes look once more, so that one of them sees it. */
export async function takeInLeftovers(
  driver: StoreDriver,
  id: string,
  secrets: SessionSecrets,
): Promise<void> {
  while (await driver.hasSpool(id)) {
    try {
      const hold = holdFor('visitor', 'take in what was left', secrets)
      const held = await driver.open(id, hold, guardFor(secrets.gate))
      try {
        await held.takeSpool(() => {})
      } finally {
        await held.release()
      }
    } catch (error) {
      // Somebody else has come, and takes it in; or the session was removed, with all that was left.
      if (['SESSION_LOCKED', 'NOT_FOUND'].includes(errorCode(error) ?? '')) return
      throw error
    }
  }
}

/** The session, or undefined if somebody holds it for longer than we wait. */
async function enter(
  driver: StoreDriver,
  id: string,
  { wait = defaultWaitMs, create, purpose }: VisitOptions,
  secrets: SessionSecrets,
  clock: Clock,
): Promise<HeldSession | undefined> {
  const deadline = systemClock.mono() + durationMs(wait, 'wait')
  const hold = holdFor('visitor', purpose, secrets)
  const guard = guardFor(secrets.gate)
  for (;;) {
    try {
      return await driver.open(id, hold, guard)
    } catch (error) {
      const code = errorCode(error)
      if (code === 'NOT_FOUND' && create !== undefined) {
        const manifest = manifestFor(driver.id, { ...create, id }, secrets, clock.now())
        const made = await createOnce(driver, manifest, hold, guard)
        if (made !== undefined) return made
        continue
      }
      if (code !== 'SESSION_LOCKED') throw error
    }
    const holder = await driver.holder(id)
    if (holder?.kind === 'writer' || systemClock.mono() >= deadline) return undefined
    await delay(lookMs)
  }
}

/** Undefined if another visitor was faster. */
async function createOnce(
  driver: StoreDriver,
  manifest: Manifest,
  hold: Hold,
  guard: WriteGuard,
): Promise<HeldSession | undefined> {
  try {
    return await driver.create(manifest, hold, guard)
  } catch (error) {
    if (errorCode(error) === 'NAME_TAKEN') return undefined
    throw error
  }
}

function direct(held: HeldSession, { gate }: SessionSecrets): Visit {
  return {
    direct: true,
    async append(event) {
      await held.append(eventEntry(event, gate))
    },
    async audit(entry) {
      await held.audit(auditEntry(entry, gate))
    },
  }
}

function spooling(driver: StoreDriver, id: string, { gate }: SessionSecrets): Visit {
  const leave = async (log: SpoolEntry['log'], entry: Entry): Promise<void> => {
    gate.assertClean(JSON.stringify(entry), 'an entry of the spool')
    await driver.spool(id, [{ log, ...entry }])
  }
  return {
    direct: false,
    append: (event) => leave('journal', eventEntry(event, gate)),
    audit: (entry) => leave('audit', auditEntry(entry, gate)),
  }
}
