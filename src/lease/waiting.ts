import { sleep, systemClock } from '../base/process/clock.ts'
import { ownIdentity } from '../base/process/liveness.ts'
import type { Actor } from './activity-log.ts'
import type { ClaimMode } from './claim-record.ts'
import { findAncestors, type PartyRequest } from './party.ts'
import { runAsync, runSync } from '../base/process/run-generator.ts'
import type { Register, Steps } from './register.ts'
import { holdsHere } from './rules.ts'
import type { ClaimsView } from './stored-claims.ts'
import { formatWaiter, removeAbandoned, touchEveryMs } from './waiters.ts'

/** A party that asks for a claim. */
export interface Claimant extends Actor {
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
  readonly #startedAtMs = systemClock.mono()
  readonly #waitMs: number
  #number: number | undefined
  #touchedAtMs = 0
  #tries = 0
  /** How many parties are before this one in the queue. */
  #ahead = 0
  #hints: ChangeHints | undefined

  constructor(register: Register, key: string, claimant: Claimant, waitMs: number) {
    this.#register = register
    this.#key = key
    this.#claimant = claimant
    this.#waitMs = waitMs
  }

  /** The number of this party's place; undefined if it has none. */
  get number(): number | undefined {
    return this.#number
  }

  get isOver(): boolean {
    return this.#leftMs <= 0
  }

  get #leftMs(): number {
    return this.#startedAtMs + this.#waitMs - systemClock.mono()
  }

  /**
   * Pauses after a try that was refused, until the claims may have changed or it is time to look again. While
   * others are before this party, only the queue is read: a try costs far more, and would be refused.
   */
  async pause(view: ClaimsView, retryAfterMs: number, signal: AbortSignal | undefined): Promise<void> {
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
      const hints = this.#ahead <= 1 ? this.#hints : undefined
      await (hints ?? new ChangeHints()).next(ms, signal)
      if (signal?.aborted) return
      await runAsync(this.#register, this.#keepPlace(view))
    } while (this.#isBehind(lookAtMs))
  }

  pauseSync(view: ClaimsView, retryAfterMs: number): void {
    const lookAtMs = systemClock.mono() + lookEveryMs
    runSync(this.#register, this.#keepPlace(view))
    do {
      sleep(this.#pauseMs(pollMs.blocking, retryAfterMs))
      runSync(this.#register, this.#keepPlace(view))
    } while (this.#isBehind(lookAtMs))
  }

  /** Whether others are before this party, and it need not look at the claims yet. */
  #isBehind(lookAtMs: number): boolean {
    return this.#ahead > 0 && systemClock.mono() < lookAtMs && !this.isOver
  }

  /** Gives up the place. */
  async end(): Promise<void> {
    this.#hints?.stop()
    await runAsync(this.#register, this.#leave())
  }

  endSync(): void {
    runSync(this.#register, this.#leave())
  }

  /**
   * A quarter of a millisecond for each place in line at first, then longer and longer until the line moves;
   * random, so that waiters spread out.
   */
  #pauseMs(longestMs: number, retryAfterMs: number): number {
    const firstMs = 0.25 * (1 + this.#ahead)
    const ms = Math.min(longestMs, firstMs * 1.3 ** Math.min(this.#tries++, 30)) * (0.5 + Math.random())
    return Math.max(0, Math.min(ms, retryAfterMs, this.#leftMs))
  }

  *#keepPlace({ record, observation }: ClaimsView): Steps<unknown, void> {
    const { waiters } = this.#register
    const { mode } = this.#claimant
    if (waiters === undefined || mode === undefined) return
    const now = systemClock.mono()
    try {
      if (this.#number !== undefined) {
        const number = this.#number
        const ahead = (yield* waiters.numbers(this.#key)).filter((each) => each < number).length
        if (ahead < this.#ahead) this.#tries = 0
        this.#ahead = ahead
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
      // The origin is read here, once: a hook looks it up when it is asked for.
      const { origin } = this.#claimant
      const text = formatWaiter({ session_id, process, paths, mode, since, ancestors, origin })
      this.#number = yield* waiters.add(this.#key, text)
      this.#touchedAtMs = now
      // Only those before this one: if the last is removed, its number is given again.
      yield* removeAbandoned(waiters, this.#key, observation, this.#number)
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
