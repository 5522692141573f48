import { sleep, systemClock } from '../base/process/clock.ts'
import { ownIdentity } from '../base/process/liveness.ts'
import type { AskingActor } from './activity-log.ts'
import type { ClaimMode } from './claim-record.ts'
import type { Observation } from './claim-status.ts'
import { LinePace } from './line-pace.ts'
import { findAncestors, type PartyRequest } from './party.ts'
import { runAsync, runSync } from '../base/process/run-generator.ts'
import type { Register, Steps, WaiterQueue } from './register.ts'
import { holdsHere, type Refused } from './rules.ts'
import type { ClaimsView } from './stored-claims.ts'
import { formatWaiter, removeIfAbandoned, touchEveryMs } from './waiters.ts'

/** A party that asks for a claim. */
export interface Claimant extends AskingActor {
  /** Absent if the party wants no claim, only that no other is in its way: it needs no place in line. */
  mode?: ClaimMode
  descent?: PartyRequest['descent']
}

/** How often to look without a hint, in milliseconds: the death of a holder changes no record. */
export const lookEveryMs = 500
const pollMs = { watched: lookEveryMs, unwatched: 200, blocking: 50 }

/** A watcher costs more than a shorter pause. */
const watchFromMs = 10

/**
 * A party that is waiting for a claim: its place in the register's queue, and the pauses between its tries.
 * The place only makes the order fair: if it cannot be had or kept, the party waits without it.
 */
export class Waiting {
  readonly #register: Register
  readonly #key: string
  readonly #claimant: Claimant
  readonly #isUnchanged: (since: ClaimsView) => Steps<unknown, boolean>
  readonly #startedAtMs = systemClock.mono()
  readonly #waitMs: number
  #number: number | undefined
  #touchedAtMs = 0
  /** The numbers of the parties before this one in the queue. */
  #ahead: number[] = []
  readonly #pace = new LinePace(this.#startedAtMs)
  #hints: ChangeHints | undefined

  /** `isUnchanged` tells whether the register still has the record of a view. */
  constructor(
    register: Register,
    key: string,
    claimant: Claimant,
    waitMs: number,
    isUnchanged: (since: ClaimsView) => Steps<unknown, boolean>,
  ) {
    this.#register = register
    this.#key = key
    this.#claimant = claimant
    this.#waitMs = waitMs
    this.#isUnchanged = isUnchanged
  }

  /** The number of this party's place; undefined if it has none. */
  get number(): number | undefined {
    return this.#number
  }

  /** Whether this party was seen to be the first in line. It stays that: later ones have higher numbers. */
  get isFirst(): boolean {
    return this.#number !== undefined && this.#ahead.length === 0
  }

  get isOver(): boolean {
    return this.#leftMs <= 0
  }

  get #leftMs(): number {
    return this.#startedAtMs + this.#waitMs - systemClock.mono()
  }

  /**
   * Pauses after a try that was refused, until the claims have changed or it is time to look again. While
   * others are before this party, only the queue is read, and then only the number of the record: a try costs
   * far more, and would be refused.
   */
  async pause(view: ClaimsView, refused: Refused, signal: AbortSignal | undefined): Promise<void> {
    const { retryAfterMs } = refused
    const lookAtMs = systemClock.mono() + lookEveryMs
    await runAsync(this.#register, this.#keepPlace(view))
    do {
      const ms = this.#pauseMs(this.#hints === undefined ? pollMs.unwatched : pollMs.watched, retryAfterMs)
      // The watcher of a shared register only polls, as this party does.
      if (this.#hints === undefined && ms > watchFromMs && this.#register.shared === undefined) {
        this.#hints = new ChangeHints(this.#register, this.#key)
        // Changes from before the watcher started are missed: look at once.
        if (this.#hints.isWatching) return
      }
      // A change concerns the first in line, and the second, which then may be the first.
      const hints = this.#ahead.length <= 1 ? this.#hints : undefined
      await (hints ?? new ChangeHints()).next(ms, signal)
      if (signal?.aborted) return
      await runAsync(this.#register, this.#keepPlace(view))
    } while (await runAsync(this.#register, this.#mustWait(view, refused, lookAtMs)))
    await runAsync(this.#register, this.#passDead(view.observation))
  }

  pauseSync(view: ClaimsView, refused: Refused): void {
    const { retryAfterMs } = refused
    const lookAtMs = systemClock.mono() + lookEveryMs
    runSync(this.#register, this.#keepPlace(view))
    do {
      sleep(this.#pauseMs(pollMs.blocking, retryAfterMs))
      runSync(this.#register, this.#keepPlace(view))
    } while (runSync(this.#register, this.#mustWait(view, refused, lookAtMs)))
    runSync(this.#register, this.#passDead(view.observation))
  }

  /** Whether a try would be refused as before. Not known of a claim above or below the directory. */
  *#mustWait(view: ClaimsView, { by, retryAfterMs }: Refused, lookAtMs: number): Steps<unknown, boolean> {
    const now = systemClock.mono()
    if (now >= lookAtMs || this.isOver) return false
    if (this.#ahead.length > 0) return true
    if (now >= lookAtMs - lookEveryMs + retryAfterMs) return false
    const isHere = view.record.claims.some(({ session_id }) => session_id === by.session_id)
    return isHere && (yield* this.#isUnchanged(view))
  }

  /** Gives up the place. */
  async end(): Promise<void> {
    this.#hints?.stop()
    await runAsync(this.#register, this.#leave())
  }

  endSync(): void {
    runSync(this.#register, this.#leave())
  }

  #pauseMs(longestMs: number, retryAfterMs: number): number {
    return Math.max(0, Math.min(this.#pace.pauseMs(longestMs), retryAfterMs, this.#leftMs))
  }

  /** Looks how far the line has moved: parties leave it at its front, and none joins before this one. */
  *#lookAhead(waiters: WaiterQueue, nowMs: number): Steps<unknown, void> {
    for (let [first] = this.#ahead; first !== undefined; [first] = this.#ahead) {
      if ((yield* waiters.read(this.#key, first)) !== undefined) break
      this.#ahead.shift()
    }
    this.#pace.note(this.#ahead.length, nowMs)
  }

  *#keepPlace({ record, observation }: ClaimsView): Steps<unknown, void> {
    const { waiters } = this.#register
    const { mode } = this.#claimant
    if (waiters === undefined || mode === undefined) return
    const now = systemClock.mono()
    try {
      if (this.#number !== undefined) {
        yield* this.#lookAhead(waiters, now)
        if (now - this.#touchedAtMs < touchEveryMs) return
      }
      if (this.#number !== undefined && (yield* waiters.touch(this.#key, this.#number))) {
        this.#touchedAtMs = now
        return
      }
      // Waiters wait for the holders of claims, which may need more before they can release what they have.
      const { session_id, paths, parent, descent } = this.#claimant
      const ancestors = findAncestors(record.claims, { sessionId: session_id, parent, descent })
      if (holdsHere({ session_id, ancestors }, record, observation)) return
      const since = Math.round(observation.now.wall - (now - this.#startedAtMs))
      const process = ownIdentity()
      const origin = this.#claimant.origin?.()
      const text = formatWaiter({ session_id, process, paths, mode, since, ancestors, origin })
      this.#number = yield* waiters.add(this.#key, text)
      this.#touchedAtMs = now
      const number = this.#number
      this.#ahead = (yield* waiters.numbers(this.#key)).filter((each) => each < number)
      yield* this.#passDead(observation)
      this.#pace.note(this.#ahead.length, now)
    } catch {}
  }

  /** Removes the dead waiters directly before this one. Those before a living one are left to that one. */
  *#passDead(observation: Observation): Steps<unknown, void> {
    const { waiters } = this.#register
    if (waiters === undefined) return
    try {
      for (const last of this.#ahead.toReversed()) {
        if (!(yield* removeIfAbandoned(waiters, this.#key, observation, last))) return
        this.#ahead.pop()
      }
    } catch {}
  }

  *#leave(): Steps<unknown, void> {
    try {
      if (this.#number !== undefined) yield* this.#register.waiters?.remove(this.#key, this.#number) ?? []
    } catch {}
  }
}

/** Hints that the claims of a key may have changed. One that comes during a read ends the next pause. */
export class ChangeHints {
  readonly #stop: (() => void) | undefined
  #came = false
  #wake: () => void = () => {}

  /** Without a register, and where the register cannot be watched, no hint comes. */
  constructor(register?: Register, key = '') {
    try {
      this.#stop = register?.watch?.(key, () => {
        this.#came = true
        this.#wake()
      })
    } catch {
      // There is no directory to watch before the first claim.
    }
  }

  get isWatching(): boolean {
    return this.#stop !== undefined
  }

  /** Resolves after a hint, or after this many milliseconds. */
  async next(ms: number, signal?: AbortSignal): Promise<void> {
    if (!this.#came && !signal?.aborted)
      await new Promise<void>((resolve) => {
        const timer = setTimeout(() => this.#wake(), ms)
        const wake = (): void => {
          clearTimeout(timer)
          signal?.removeEventListener('abort', wake)
          resolve()
        }
        this.#wake = wake
        signal?.addEventListener('abort', wake)
      })
    this.#came = false
  }

  stop(): void {
    this.#stop?.()
  }
}
