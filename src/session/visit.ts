import { setTimeout as delay } from 'node:timers/promises'
import { systemClock } from '../base/process/clock.ts'
import { errorCode, errorMessage, notRetryable } from '../base/errors/stint-error.ts'
import { durationMs } from '../base/text/duration.ts'
import { createManifest } from './create-manifest.ts'
import { closeAtEnd, giveBack } from './close-at-end.ts'
import { inspectionOf } from './inspection.ts'
import type { LogName } from './log/codec.ts'
import type { LogEntry } from './log/record.ts'
import { factsOf } from './manifest.ts'
import { makeAuditEntry, makeEventEntry, RegisteredSecrets } from './entries.ts'
import type { Medium } from './medium.ts'
import { assertWrittenBy, holderKind } from './session-errors.ts'
import { createSessionLog, type LogContext, openSessionLog, type SessionLog } from './session-log.ts'
import type { Receipt, Visit, VisitOptions } from './store.ts'

const defaultWaitMs = 2000
const retryMs = 10

/**
 * Holds a session for a moment, and writes a few records into it. `SESSION_LOCKED` while a writer holds the
 * session, or another visitor for longer than this one waits.
 */
export async function visitSession<T>(
  medium: Medium,
  id: string,
  fn: (visit: Visit) => Promise<T> | T,
  options: VisitOptions,
  context: Omit<LogContext, 'secrets'>,
): Promise<T> {
  const secrets = new RegisteredSecrets(options.mask)
  secrets.registerAll(options.secrets ?? [])
  const held = await enter(medium, id, options, secrets, { ...context, secrets })
  const forget = closeAtEnd({ id, close: () => giveBack(held) })
  const { onWarning = (message) => process.emitWarning(message) } = options
  let isWritten = false
  const append = async (log: LogName, entry: LogEntry): Promise<Receipt> => {
    const { seq, at } = await held.append(log, entry)
    isWritten = true
    return { seq, at }
  }
  try {
    assertWrittenBy(medium.id, id, held.manifest.store)
    secrets.apply(factsOf(held.manifest))
    await snapshotIfOverdue(held)
    return await fn({
      append: async (event) => await append('journal', makeEventEntry(event, secrets.gate)),
      audit: async (entry) => await append('audit', makeAuditEntry(entry, secrets.gate)),
      inspect: async () => inspectionOf(await medium.read(id)),
    })
  } catch (error) {
    throw isWritten ? notRetryable(error) : error
  } finally {
    // What was acknowledged is on disk, whatever happens now: a failure here must not suggest a second try.
    try {
      await giveBack(held)
      forget()
    } catch (error) {
      // A session that another process has taken over needs no giving back.
      if (errorCode(error) === 'FENCED') forget()
      else onWarning(`the visit of session ${id} did not end cleanly: ${errorMessage(error)}`)
    }
  }
}

/** A session that only visitors write to is never closed: now and then one of them takes a snapshot. */
async function snapshotIfOverdue(held: SessionLog): Promise<void> {
  if (!held.isSnapshotOverdue) return
  try {
    await held.snapshot()
  } catch (error) {
    // A snapshot is a cache: without it the next resume only takes longer.
    if (errorCode(error) === 'FENCED') throw error
  }
}

/** Takes the session, and waits while another visitor holds it. */
async function enter(
  medium: Medium,
  id: string,
  { wait = defaultWaitMs, create, purpose }: VisitOptions,
  secrets: RegisteredSecrets,
  context: LogContext,
): Promise<SessionLog> {
  const deadline = systemClock.mono() + durationMs(wait, 'wait')
  for (;;) {
    try {
      // The lock record is written first and contains `purpose`: know the secrets before taking the lock.
      if (purpose !== undefined) await secrets.applyThoseOf(medium, id)
      return await openSessionLog(medium, id, secrets.holdFor('visitor', purpose), context)
    } catch (error) {
      const code = errorCode(error)
      if (code === 'NOT_FOUND' && create !== undefined) {
        const manifest = createManifest(medium.id, { ...create, id }, secrets, context.clock.now())
        try {
          return await createSessionLog(medium, manifest, secrets.holdFor('visitor', purpose), context)
        } catch (failure) {
          // Another visitor was faster: open what it has created.
          if (errorCode(failure) !== 'NAME_TAKEN') throw failure
        }
        continue
      }
      if (code !== 'SESSION_LOCKED' || systemClock.mono() >= deadline) throw error
      if (holderKind(error) === 'writer') throw error
    }
    await delay(retryMs)
  }
}
