import { sleep, systemClock } from '../base/process/clock.ts'
import { type Book, change, type Changed } from './workspace-claims.ts'
import type { Claim } from './claim.ts'
import { heldError, type Refused } from './lock-held-error.ts'
import { runAsync, runSync } from './register.ts'
import { decideAcquire, type AcquireAnswer, type AcquireRequest } from './rules.ts'

export type Granted = Extract<AcquireAnswer, { granted: true }>

export interface WaitOptions {
  waitMs: number
  signal?: AbortSignal
}

/** Tries, and while it is refused and there is time, waits for a change and tries again. */
export async function acquireWithin(
  book: Book,
  request: AcquireRequest,
  { waitMs, signal }: WaitOptions,
): Promise<Changed<Granted>> {
  const startedAt = systemClock.mono()
  const watched = watching(book)
  for (let tries = 0; ; tries++) {
    signal?.throwIfAborted()
    const changed = await runAsync(book.register, attempt(watched, request))
    if (changed.answer.granted) return changed as Changed<Granted>
    const waited = systemClock.mono() - startedAt
    if (waited >= waitMs) throw heldError(book, changed as Changed<Refused>, Math.round(waitMs))
    await changeOrTime(book, Math.min(pauseMs(tries), waitMs - waited), signal)
  }
}

/** The same without giving way, for exit handlers and hooks: it sleeps between tries. */
export function acquireWithinSync(book: Book, request: AcquireRequest, waitMs: number): Changed<Granted> {
  const startedAt = systemClock.mono()
  const watched = watching(book)
  for (let tries = 0; ; tries++) {
    const changed = runSync(book.register, attempt(watched, request))
    if (changed.answer.granted) return changed as Changed<Granted>
    const waited = systemClock.mono() - startedAt
    if (waited >= waitMs) throw heldError(book, changed as Changed<Refused>, Math.round(waitMs))
    sleep(Math.min(pauseMs(tries), waitMs - waited))
  }
}

const attempt = (book: Book, request: AcquireRequest) =>
  change(book, (claims, observation, fence) => decideAcquire(claims, request, observation, fence))

/** A quarter of a millisecond at first, then longer, up to a fifth of a second; never in step with the others. */
const pauseMs = (tries: number): number =>
  Math.min(200, 0.25 * 1.3 ** Math.min(tries, 30)) * (0.5 + Math.random())

/** Resolves at a change of the book, or when the time is over; a holder's death changes nothing, so time is needed. */
function changeOrTime(book: Book, ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      clearTimeout(timer)
      stopWatching?.()
      signal?.removeEventListener('abort', done)
      resolve()
    }
    let stopWatching: (() => void) | undefined
    const timer = setTimeout(done, ms)
    signal?.addEventListener('abort', done)
    if (signal?.aborted) return done()
    // Short pauses are not worth a watcher, nor one that only looks now and then, as we do.
    if (ms > 10 && !book.register.shared) stopWatching = tryWatch(book, done)
  })
}

/** A watcher is only ever a help: where there is none, time has to do. */
export function tryWatch({ register, key }: Book, onChange: () => void): (() => void) | undefined {
  try {
    return register.watch?.(key, onChange)
  } catch {
    return undefined
  }
}

/** The book as a waiter sees it: it knows since when each claim has looked the same. */
function watching(book: Book): Book {
  const seen = new Map<string, number>()
  const outlasted = (claim: Claim): boolean => {
    const look = `${claim.session_id} ${claim.fence} ${claim.refreshed_at}`
    const now = systemClock.mono()
    const since = seen.get(look) ?? now
    seen.set(look, since)
    const busy = claim.holders.some(({ calls }) => calls.length > 0)
    return now - since > (busy ? claim.busy_ttl_ms : claim.ttl_ms)
  }
  return { ...book, outlasted }
}
