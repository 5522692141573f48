import { setTimeout as delay } from 'node:timers/promises'
import { type Clock, systemClock } from '../base/process/clock.ts'
import { errorCode, errorMessage, notRetryable } from '../base/errors/stint-error.ts'
import { durationMs } from '../base/text/duration.ts'
import { auditRecordFrom } from './audit-record.ts'
import { createManifest } from './create-manifest.ts'
import { hasSpool, holderOf } from './driver-defaults.ts'
import { endAtExit } from './end-at-exit.ts'
import type { HeldSession, LogEntry, SpoolEntry, StoreDriver, StoredReceipt } from './driver.ts'
import { inspectionOf } from './inspection.ts'
import { drainSpool, giveBack, takeSnapshot } from './live-session.ts'
import { factsOf } from './manifest.ts'
import { makeAuditEntry, makeEventEntry } from './make-entry.ts'
import { assertWrittenBy } from './session-errors.ts'
import { RegisteredSecrets } from './session-secrets.ts'
import { applyAuditRecord } from './state.ts'
import type { Inspection, Visit, VisitOptions, VisitReceipt } from './store.ts'

const defaultWaitMs = 2000
const retryMs = 10

/** Writes a few records into a session: directly, or through its spool if another process holds it. */
export async function visitSession<T>(
  driver: StoreDriver,
  id: string,
  fn: (visit: Visit) => Promise<T> | T,
  options: VisitOptions,
  clock: Clock,
): Promise<T> {
  const secrets = new RegisteredSecrets(options.mask)
  secrets.registerAll(options.secrets ?? [])
  const held = await enter(driver, id, options, secrets, clock)
  const forget = held === undefined ? undefined : endAtExit(visitEnding(id, held))
  const { onWarning = (message) => process.emitWarning(message) } = options
  let isWritten = false
  const onWritten = (): void => void (isWritten = true)
  const inspect = async (): Promise<Inspection> => inspectionOf(driver, await driver.read(id))
  try {
    if (held === undefined) {
      await secrets.applyThoseOf(driver, id)
      const leave: WriteEntry = async (log, entry) => {
        secrets.gate.assertClean(JSON.stringify(entry), 'an entry of the spool')
        await driver.spool(id, [{ log, at: clock.now(), ...entry }])
      }
      return await fn(visitBy(leave, { direct: false, inspect }, secrets, onWritten))
    }
    assertWrittenBy(driver.id, id, held.manifest.store)
    secrets.apply(factsOf(held.manifest))
    await drainSpoolAndSnapshot(held, secrets)
    const append: WriteEntry = (log, entry) => held.append(log, entry)
    return await fn(visitBy(append, { direct: true, inspect }, secrets, onWritten))
  } catch (error) {
    throw isWritten ? notRetryable(error) : error
  } finally {
    // What was acknowledged is on disk, whatever happens now: a failure here must not suggest a second try.
    try {
      if (held !== undefined) await giveBack(held)
      forget?.()
      await drainLeftovers(driver, id, secrets)
    } catch (error) {
      // A session that another process has taken over needs no giving back.
      if (errorCode(error) === 'FENCED') forget?.()
      else onWarning(`the visit of session ${id} did not end cleanly: ${errorMessage(error)}`)
    }
  }
}

/** How a visit ends if the process ends meanwhile: what it has written stays. */
const visitEnding = (id: string, held: HeldSession): Parameters<typeof endAtExit>[0] => ({
  id,
  endNow: held.endNow && (() => held.endNow?.()),
  close: () => giveBack(held),
})

/**
 * Drains entries that a visitor left while the holder was releasing the session. The visitor and the holder
 * both check the spool again at their end, so one of them sees the entries.
 */
export async function drainLeftovers(
  driver: StoreDriver,
  id: string,
  secrets: RegisteredSecrets,
): Promise<void> {
  while (await hasSpool(driver, id)) {
    try {
      const hold = secrets.holdFor('visitor', 'take in what visitors left')
      const held = await driver.open(id, hold, secrets.guard)
      try {
        await drainSpool(held, secrets, () => {})
      } finally {
        await giveBack(held)
      }
    } catch (error) {
      // The holder of the session takes the entries in, or the session was removed with its spool.
      if (['SESSION_LOCKED', 'NOT_FOUND'].includes(errorCode(error) ?? '')) return
      throw error
    }
  }
}

/** A session that only visitors write to is never closed: now and then one of them takes a snapshot. */
async function drainSpoolAndSnapshot(held: HeldSession, secrets: RegisteredSecrets): Promise<void> {
  const { recovered } = held
  await drainSpool(held, secrets, (log, entry, receipt) => {
    if (recovered !== undefined && log === 'audit')
      applyAuditRecord(recovered.state, auditRecordFrom(entry, receipt))
  })
  if (!recovered?.snapshotDue) return
  try {
    await takeSnapshot(held, recovered.state, secrets)
  } catch (error) {
    // A snapshot is a cache: without it the next resume only takes longer.
    if (errorCode(error) === 'FENCED') throw error
  }
}

/** Takes the session, or returns undefined if another process holds it for longer than the visitor waits. */
async function enter(
  driver: StoreDriver,
  id: string,
  { wait = defaultWaitMs, create, purpose }: VisitOptions,
  secrets: RegisteredSecrets,
  clock: Clock,
): Promise<HeldSession | undefined> {
  const deadline = systemClock.mono() + durationMs(wait, 'wait')
  for (;;) {
    try {
      // The lock record is written first and contains `purpose`: know the secrets before taking the lock.
      if (purpose !== undefined) await secrets.applyThoseOf(driver, id)
      return await driver.open(id, secrets.holdFor('visitor', purpose), secrets.guard)
    } catch (error) {
      const code = errorCode(error)
      if (code === 'NOT_FOUND' && create !== undefined) {
        const manifest = createManifest(driver.id, { ...create, id }, secrets, clock.now())
        try {
          return await driver.create(manifest, secrets.holdFor('visitor', purpose), secrets.guard)
        } catch (failure) {
          // Another visitor was faster: open what it has created.
          if (errorCode(failure) !== 'NAME_TAKEN') throw failure
        }
        continue
      }
      if (code !== 'SESSION_LOCKED') throw error
    }
    const holder = await holderOf(driver, id)
    if (holder?.kind === 'writer' || systemClock.mono() >= deadline) return undefined
    await delay(retryMs)
  }
}

/** Writes an entry; resolves with its receipt, or with nothing if it was left for the holder. */
type WriteEntry = (log: SpoolEntry['log'], entry: LogEntry) => Promise<StoredReceipt | void>

/** A visit that writes to the logs (`direct`) or to the spool. `onWritten` is called after each entry. */
function visitBy(
  write: WriteEntry,
  { direct, inspect }: Pick<Visit, 'direct' | 'inspect'>,
  { gate }: RegisteredSecrets,
  onWritten: () => void,
): Visit {
  const put: (...entry: Parameters<WriteEntry>) => Promise<VisitReceipt> = async (log, entry) => {
    const receipt = await write(log, entry)
    onWritten()
    return receipt === undefined ? {} : { seq: receipt.seq }
  }
  return {
    direct,
    inspect,
    append: async (event) => await put('journal', makeEventEntry(event, gate)),
    audit: async (entry) => await put('audit', makeAuditEntry(entry, gate)),
  }
}
