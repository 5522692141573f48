import { sleep, systemClock } from '../base/process/clock.ts'
import { type Identity, type Liveness, liveness } from '../base/process/liveness.ts'
import { thisMachine } from '../base/process/platform.ts'
import { type BrokenClaim, type Claim, wholeWorkspace } from './claim.ts'
import { type LeaseTarget, pathsInTarget, resourceTarget, workspaceTarget } from './lease-target.ts'
import { heldError } from './lock-held-error.ts'
import { type Now, type Register, runAsync, runSync, type Steps } from './register.ts'
import {
  type AcquireAnswer,
  type AcquireRequest,
  type BreakAnswer,
  checkClaim,
  decideAcquire,
  decideBreak,
  decideRefresh,
  decideRelease,
  type RefreshRequest,
  type ReleaseAnswer,
  type ReleaseRequest,
} from './rules.ts'
import type { Observation } from './staleness.ts'
import { type Changed, type ClaimsView, type Decide, StoredClaims } from './stored-claims.ts'
import type { Workspace } from './workspace.ts'

export type Granted = Extract<AcquireAnswer, { granted: true }>
export type Refused = Extract<AcquireAnswer, { granted: false }>

export interface WaitOptions {
  waitMs?: number
  signal?: AbortSignal
}

/**
 * The claims on one workspace or resource. Every method reads the record from the register; a change is decided on it
 * and swapped in, and decided again if another writer came in between. The methods in `-Sync` run the same generators
 * without yielding to the event loop; they need a register with `performSync`.
 */
export class WorkspaceClaims {
  readonly register: Register
  readonly target: LeaseTarget
  readonly #stored: StoredClaims

  /** The claims on the workspace around a directory (the current one by default), or on a named resource. */
  static open(register: Register, target: { workspace?: string | Workspace; resource?: string } = {}) {
    const { workspace, resource } = target
    return new this(
      register,
      resource === undefined ? workspaceTarget(workspace, register) : resourceTarget(resource, register),
    )
  }

  constructor(register: Register, target: LeaseTarget) {
    this.register = register
    this.target = target
    this.#stored = new StoredClaims(register, target, register.shared ? livenessInThisBoot : liveness)
  }

  get key(): string {
    return this.target.key
  }

  /** The path or repository of a workspace, or the name of a resource. */
  get name(): string {
    return this.target.name
  }

  /** Paths as claims spell them, resolved from the directory `from`; the whole workspace if there are none. */
  pathsOf(paths: readonly string[], from?: string): readonly string[] {
    return paths.length === 0 ? wholeWorkspace : pathsInTarget(this.target, this.register, paths, from)
  }

  /** The claims now. */
  read(): Promise<ClaimsView> {
    return this.#run(this.#stored.read())
  }

  readSync(): ClaimsView {
    return this.#runSync(this.#stored.read())
  }

  /** Changes the claims as a pure function decides. */
  change<Answer>(decide: Decide<Answer>): Promise<Changed<Answer>> {
    return this.#run(this.#stored.change(decide))
  }

  changeSync<Answer>(decide: Decide<Answer>): Changed<Answer> {
    return this.#runSync(this.#stored.change(decide))
  }

  /** Claims what the request asks for; retries for `waitMs` while it is refused, then throws `LOCK_HELD`. */
  async acquire(
    request: AcquireRequest,
    { waitMs = 0, signal }: WaitOptions = {},
  ): Promise<Changed<Granted>> {
    const startedAtMs = systemClock.mono()
    const isOutlasted = outlastedWhileWaiting()
    for (let tries = 0; ; tries++) {
      signal?.throwIfAborted()
      const { answer, ...view } = await this.#run(this.#acquiring(request, isOutlasted))
      if (answer.granted) return { answer, ...view }
      const waited = systemClock.mono() - startedAtMs
      if (waited >= waitMs) throw heldError(this, answer, view, Math.round(waitMs))
      await this.#changeOrTimeout(Math.min(pauseMs(tries), waitMs - waited), signal)
    }
  }

  acquireSync(request: AcquireRequest, waitMs = 0): Changed<Granted> {
    const startedAtMs = systemClock.mono()
    const isOutlasted = outlastedWhileWaiting()
    for (let tries = 0; ; tries++) {
      const { answer, ...view } = this.#runSync(this.#acquiring(request, isOutlasted))
      if (answer.granted) return { answer, ...view }
      const waited = systemClock.mono() - startedAtMs
      if (waited >= waitMs) throw heldError(this, answer, view, Math.round(waitMs))
      sleep(Math.min(pauseMs(tries), waitMs - waited))
    }
  }

  /** Extends a session's own claim; the answer has no claim if it was lost. */
  refresh(request: RefreshRequest): Promise<Changed<{ claim?: Claim }>> {
    return this.#run(this.#refreshing(request))
  }

  refreshSync(request: RefreshRequest): Changed<{ claim?: Claim }> {
    return this.#runSync(this.#refreshing(request))
  }

  /** Gives up a session's own claim, or some of its paths or holders. */
  async release(request: ReleaseRequest): Promise<ReleaseAnswer> {
    return (await this.#run(this.#releasing(request))).answer
  }

  releaseSync(request: ReleaseRequest): ReleaseAnswer {
    return this.#runSync(this.#releasing(request)).answer
  }

  /** The session's claim, if it is in force and, where a fence is given, was never lost since that fence. */
  check(sessionId: string, fence?: number): Promise<Claim | undefined> {
    return this.#run(this.#checking(sessionId, fence))
  }

  checkSync(sessionId: string, fence?: number): Claim | undefined {
    return this.#runSync(this.#checking(sessionId, fence))
  }

  /** Removes another session's claim, and records who did it and why. */
  async break(
    claim: Pick<Claim, 'session_id' | 'fence'>,
    by: Omit<BrokenClaim, 'session_id' | 'fence'>,
  ): Promise<BreakAnswer> {
    return (await this.change((record) => decideBreak(record, claim, by))).answer
  }

  /** The claim that would refuse this request now. */
  async findBlocker(request: AcquireRequest): Promise<{ by: Claim; observation: Observation } | undefined> {
    const { record, observation } = await this.read()
    const { answer } = decideAcquire(record, request, observation, 0)
    return answer.granted ? undefined : { by: answer.by, observation }
  }

  /** Calls back when the claims may have changed; undefined where the register cannot be watched. */
  watch(onChange: () => void): (() => void) | undefined {
    try {
      return this.register.watch?.(this.key, onChange)
    } catch {
      return undefined
    }
  }

  /** The register's clock, which dates claims and decides when they expire. */
  now(): Promise<Now> {
    return this.#run(this.register.now(this.key))
  }

  #acquiring(request: AcquireRequest, isOutlasted: (claim: Claim) => boolean) {
    return this.#stored.change<AcquireAnswer>(
      (record, observation, fence) => decideAcquire(record, request, observation, fence),
      isOutlasted,
    )
  }

  #refreshing(request: RefreshRequest) {
    return this.#stored.change<{ claim?: Claim }>((record, observation) =>
      decideRefresh(record, request, observation),
    )
  }

  #releasing(request: ReleaseRequest) {
    return this.#stored.change<ReleaseAnswer>((record, _observation, _fence, tried) =>
      decideRelease(record, request, tried),
    )
  }

  *#checking(sessionId: string, fence: number | undefined): Steps<unknown, Claim | undefined> {
    const { record, observation } = yield* this.#stored.read()
    return checkClaim(record, sessionId, fence, observation)
  }

  #run<Result>(steps: Steps<unknown, Result>): Promise<Result> {
    return runAsync(this.register, steps)
  }

  #runSync<Result>(steps: Steps<unknown, Result>): Result {
    return runSync(this.register, steps)
  }

  /** Resolves when the claims may have changed, and at the latest after `ms`: a holder's death changes no record. */
  #changeOrTimeout(ms: number, signal: AbortSignal | undefined): Promise<void> {
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
      // A watcher costs more than a short pause, and a shared register's watcher only polls, as this loop does.
      if (ms > 10 && !this.register.shared) stopWatching = this.watch(done)
    })
  }
}

/**
 * Liveness for a register that other machines share. Machines cloned from one image have the same machine id, so only a
 * process of this very boot can be found dead.
 */
function livenessInThisBoot(process: Identity): Liveness {
  const { boot } = thisMachine()
  return boot !== '' && process.boot === boot ? liveness(process) : 'unknown'
}

/** Starts at a quarter of a millisecond and grows to a fifth of a second; random, so that waiters spread out. */
const pauseMs = (tries: number): number =>
  Math.min(200, 0.25 * 1.3 ** Math.min(tries, 30)) * (0.5 + Math.random())

/** For a waiter: tells whether a claim has stayed unchanged in front of its eyes for longer than it lasts. */
function outlastedWhileWaiting(): (claim: Claim) => boolean {
  const firstSeenMs = new Map<string, number>()
  return (claim) => {
    const version = `${claim.session_id} ${claim.fence} ${claim.refreshed_at}`
    const now = systemClock.mono()
    const since = firstSeenMs.get(version) ?? now
    firstSeenMs.set(version, since)
    const busy = claim.holders.some(({ calls }) => calls.length > 0)
    return now - since > (busy ? claim.busy_ttl_ms : claim.ttl_ms)
  }
}
