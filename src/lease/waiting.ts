import { after, sleep, systemClock } from '../base/process/clock.ts'
import { type Identity, ownIdentity, parseIdentity } from '../base/process/liveness.ts'
import { formatDuration, timerMs } from '../base/text/duration.ts'
import { isNumber, isRecord, isString, parseObject } from '../base/text/fields.ts'
import { type ClaimMode, type ClaimOrigin, parseOrigin } from './claim.ts'
import type { Observation } from './force.ts'
import type { LeaseStore, Now, Register, WaiterEntries } from './register.ts'
import type { AcquireRequest } from './rules.ts'

// How a party waits for a claim, and how others see that it does. Claims do not depend on waiters: there is
// no order among them, but for the courtesy of the last holder (`#acquireAfterWaiters` of `WorkspaceClaims`).

/**
 * The first and the longest pause of a waiter. Most claims of programs are short, so it looks again at once,
 * and then less and less often: each look costs time that the holder lacks if many wait. The longest pauses
 * find a holder that has died, which changes no record.
 */
const firstPauseMs = 0.1
const longestPauseMs = 500

/** A waiter that pauses for longer watches the key. */
const watchFromMs = 50

/** Every change wakes all watchers: where a key changes often, none looks more often than this. */
const watchedPauseMs = 20

/**
 * A wait for changes of a key. It looks often at first, then less and less often, and is then woken by a
 * watcher, with a look now and then in case the system has no watchers left (inotify(7), `max_user_watches`).
 */
export class Wait {
  readonly #register: Register
  readonly #key: string
  readonly #endMs: number
  readonly #signal: AbortSignal | undefined
  #pauseMs = firstPauseMs
  #unwatch: (() => void) | undefined
  /** The key has changed since the last pause began: the caller may have read it before that. */
  #hasChanged = false
  #wake: () => void = () => {}

  constructor({ register }: LeaseStore, key: string, waitMs: number, signal?: AbortSignal) {
    this.#register = register
    this.#key = key
    this.#endMs = systemClock.mono() + waitMs
    this.#signal = signal
  }

  /** Most waits are shorter than it takes to show and to log them. */
  get isLong(): boolean {
    return this.#pauseMs > watchFromMs
  }

  get isOver(): boolean {
    return systemClock.mono() >= this.#endMs
  }

  /** Looks again and again, until a look is the last or the wait is over; returns the last result. */
  async retry<Result extends { epoch: number } | undefined>(
    first: Result,
    isLast: (result: Result) => boolean,
    look: () => Promise<Result>,
  ): Promise<Result> {
    let result = first
    while (!isLast(result) && !this.isOver) {
      await this.#pause()
      this.#signal?.throwIfAborted()
      if (await this.#mayHaveChanged(result?.epoch)) result = await look()
    }
    return result
  }

  /** One listing shows that the key has its old epoch. Only a look finds a dead holder: a long wait looks. */
  async #mayHaveChanged(epoch: number | undefined): Promise<boolean> {
    if (this.isLong || this.isOver) return true
    return (await this.#register.read(this.#key, epoch)).epoch !== epoch
  }

  /** Resolves after a change, after a pause that grows with each call, or at the end of the wait. */
  async #pause(): Promise<void> {
    // Random, so that waiters do not look in step.
    const pauseMs = this.#pauseMs * (0.5 + Math.random())
    this.#pauseMs = Math.min(longestPauseMs, this.#pauseMs * (this.#pauseMs < 1 ? 2 : 1.2))
    const ms = Math.min(pauseMs, this.#endMs - systemClock.mono())
    if (ms < 1) return await pauseBriefly(ms)
    if (this.isLong) this.#watch()
    if (this.#unwatch !== undefined) await after(Math.min(ms, watchedPauseMs * (0.5 + Math.random())))
    await this.#changeWithin(ms)
    this.#hasChanged = false
  }

  #changeWithin(ms: number): Promise<void> {
    return new Promise((resolve) => {
      if (this.#hasChanged || this.#signal?.aborted) return resolve()
      const timer = setTimeout(() => this.#wake(), timerMs(ms))
      this.#wake = () => {
        clearTimeout(timer)
        this.#signal?.removeEventListener('abort', this.#wake)
        resolve()
      }
      this.#signal?.addEventListener('abort', this.#wake)
    })
  }

  #watch(): void {
    if (this.#unwatch !== undefined) return
    try {
      this.#unwatch = this.#register.watch(this.#key, () => {
        this.#hasChanged = true
        this.#wake()
      })
    } catch {
      this.#unwatch = () => {}
    }
  }

  [Symbol.dispose](): void {
    this.#unwatch?.()
  }
}

/** A timer lasts for a millisecond at least: this thread sleeps for less, and lets the event loop turn. */
async function pauseBriefly(ms: number): Promise<void> {
  sleep(Math.max(0, ms))
  await new Promise((resolve) => setImmediate(resolve))
}

/** A party that waits for a claim. */
export interface Waiter {
  session_id: string
  /** The process that waits. */
  process: Identity
  paths: readonly string[]
  mode: ClaimMode
  /** When it began to wait, in milliseconds since the epoch. */
  since: number
  /** When its wait ends at the latest: a waiter that cannot be seen from here counts until then. */
  until: number
  origin?: ClaimOrigin
}

/** An entry of a wait without an end counts for so long where its process cannot be seen. */
const maxWaitMs = 24 * 3_600_000

function parseWaiter(text: string): Waiter | undefined {
  const value = parseObject(text)
  const process = parseIdentity(value?.process)
  if (!isRecord(value) || process === undefined) return undefined
  const { session_id, since, until, paths, mode } = value
  if (!isString(session_id) || !isNumber(since) || !isNumber(until) || !Array.isArray(paths)) return undefined
  const origin = parseOrigin(value.origin)
  return {
    session_id,
    process,
    paths: paths.filter(isString),
    mode: mode === 'shared' ? 'shared' : 'exclusive',
    since,
    until,
    ...(origin && { origin }),
  }
}

/** The waiters of a key, the one that has waited longest first. Removes the entries of dead ones. */
export async function listWaiters(
  entries: WaiterEntries,
  key: string,
  { now, liveness }: Pick<Observation, 'now' | 'liveness'>,
): Promise<Waiter[]> {
  const waiters: Waiter[] = []
  for (const { id, text } of await entries.list(key)) {
    const waiter = parseWaiter(text)
    const life = waiter === undefined ? 'dead' : liveness(waiter.process)
    if (waiter && (life === 'alive' || (life === 'unknown' && now.wall <= waiter.until))) waiters.push(waiter)
    else await entries.remove(key, id)
  }
  return waiters.sort((a, b) => a.since - b.since)
}

/** Shows a waiter until the returned function is called. One that cannot be shown waits all the same. */
export async function showWaiter(
  entries: WaiterEntries,
  key: string,
  { sessionId, paths, mode, origin }: AcquireRequest,
  waitMs: number,
  { wall }: Now,
): Promise<() => Promise<void>> {
  const waiter: Waiter = {
    session_id: sessionId,
    process: ownIdentity(),
    paths,
    mode,
    since: Math.round(wall),
    until: Math.round(wall + Math.min(waitMs, maxWaitMs)),
    origin: origin?.(),
  }
  const id = await entries.add(key, JSON.stringify(waiter)).catch(() => undefined)
  return async () => {
    if (id !== undefined) await entries.remove(key, id).catch(() => {})
  }
}

/** Tells people how many wait: "2 sessions wait for it, the first for 40s"; empty if none does. */
export function waitersText(waiters: readonly Waiter[], now: Now): string {
  const [first] = waiters
  if (first === undefined) return ''
  const waited = formatDuration(Math.max(1, Math.round((now.wall - first.since) / 1000)) * 1000)
  return waiters.length === 1
    ? `1 session has waited for it for ${waited}`
    : `${waiters.length} sessions wait for it, the first for ${waited}`
}
