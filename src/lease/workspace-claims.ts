import { systemClock } from '../base/process/clock.ts'
import { runAsync, runSync } from '../base/process/run-generator.ts'
import { ActivityLog } from './activity-log.ts'
import {
  type BrokenClaim,
  type Claim,
  type ClaimsRecord,
  parseClaimsRecord,
  wholeWorkspace,
} from './claim-record.ts'
import type { Observation } from './claim-status.ts'
import {
  type LeaseTarget,
  mayNest,
  pathsInTarget,
  resourceTarget,
  type Workspace,
  workspaceTarget,
} from './lease-target.ts'
import { heldError } from './lock-held-error.ts'
import { claimNested, findNested, type Nesting, removeNested } from './nested-claims.ts'
import type { Now, Register, Steps } from './register.ts'
import {
  type AcquireAnswer,
  type AcquireRequest,
  areInConflict,
  type BreakAnswer,
  checkClaim,
  decideAcquire,
  decideBreak,
  decideRefresh,
  decideRelease,
  type Decision,
  type Granted,
  holdsHere,
  type RefreshRequest,
  type Refused,
  refusedBy,
  type ReleaseAnswer,
  type ReleaseRequest,
} from './rules.ts'
import {
  type ClaimsView,
  type Decide,
  type Decided,
  livenessFor,
  type Review,
  StoredClaims,
} from './stored-claims.ts'
import { claimOf, findReservation, listWaiters, type Waiter } from './waiters.ts'
import { ChangeHints, type Claimant, lookEveryMs, Waiting } from './waiting.ts'

/** A refusal, and the claims that it is based on. */
export interface Blocker extends ClaimsView {
  refused: Refused
}

export interface WaitOptions {
  waitMs?: number
  signal?: AbortSignal
}

/**
 * The claims on one workspace or resource. Every method reads the record from the register; a change is
 * decided on it and swapped in, and decided again if another writer came in between. The methods in `-Sync`
 * run the same generators without yielding to the event loop; they need a register with `performSync`.
 */
export class WorkspaceClaims {
  readonly register: Register
  readonly target: LeaseTarget
  readonly activity: ActivityLog
  readonly #stored: StoredClaims

  /** The claims on the workspace around a directory (the current one by default), or on a named resource. */
  static open(register: Register, target: { workspace?: string | Workspace; resource?: string } = {}) {
    const { workspace, resource } = target
    return new this(
      register,
      resource === undefined ? workspaceTarget(workspace, register) : resourceTarget(resource, register),
    )
  }

  /** The claims of a key in a register. `name` is used if the record is free, and so without a name. */
  static async ofKey(register: Register, key: string, name: string): Promise<WorkspaceClaims> {
    const { text } = await runAsync(register, register.read(key))
    const record = text === undefined ? undefined : parseClaimsRecord(text, name)
    return new this(register, { key, name: record?.workspace ?? name })
  }

  constructor(register: Register, target: LeaseTarget) {
    this.register = register
    this.target = target
    this.activity = new ActivityLog(register, target.key)
    this.#stored = new StoredClaims(register, target, livenessFor(register))
  }

  get key(): string {
    return this.target.key
  }

  /** The path or repository of a workspace, or the name of a resource. */
  get name(): string {
    return this.target.name
  }

  /** Paths in the form of claims, relative ones from the directory `from`; the whole workspace by default. */
  pathsOf(paths: readonly string[], from?: string): readonly string[] {
    return paths.length === 0 ? wholeWorkspace : pathsInTarget(this.target, this.register, paths, from)
  }

  /** The claims now. */
  read(): Promise<ClaimsView> {
    return runAsync(this.register, this.#stored.read())
  }

  readSync(): ClaimsView {
    return runSync(this.register, this.#stored.read())
  }

  /** Replaces the claims by what `decide` makes of them; decides again if another writer was faster. */
  async change<Answer>(decide: Decide<Answer>): Promise<Decided<Answer>> {
    return this.activity.noteChange(await runAsync(this.register, this.#stored.change(decide)))
  }

  changeSync<Answer>(decide: Decide<Answer>): Decided<Answer> {
    return this.activity.noteChange(runSync(this.register, this.#stored.change(decide)))
  }

  /** Decides and swaps. A directory without git has others above and below, whose claims count, too. */
  *#claim<Answer extends AcquireAnswer | { granted: true }>(
    decide: Decide<Answer>,
    claimant: Claimant,
    waiting?: Waiting,
  ): Steps<unknown, Decided<Answer | Refused>> {
    const nesting = this.#nesting(claimant)
    const review: Review<Answer, Refused> = (decision, view) => this.#review(decision, view, waiting, nesting)
    return yield* nesting === undefined
      ? this.#stored.change(decide, review)
      : claimNested(this.#stored, decide, review, nesting)
  }

  /** How a claim here is compared with those above and below; undefined where they cannot conflict. */
  #nesting({ descent }: Pick<Claimant, 'descent'>): Nesting | undefined {
    const { register, target } = this
    const { key, path } = target
    return path === undefined || register.shared !== undefined || !mayNest(path)
      ? undefined
      : { register, key, path, descent }
  }

  /** Lets waiters go first: a new claim is refused while the register keeps it for one that came earlier. */
  *#review<Answer extends AcquireAnswer | { granted: true }>(
    decision: Decision<Answer>,
    view: ClaimsView,
    waiting: Waiting | undefined,
    nesting: Nesting | undefined,
  ): Steps<unknown, Decision<Answer | Refused>> {
    const { answer } = decision
    const { record, observation } = view
    if (!('tookOver' in answer) || !isNewIn(record, answer.claim, observation)) return decision
    const { claim, tookOver } = answer
    const { register, key } = this
    if (waiting !== undefined && nesting !== undefined) {
      // A claim that is written only to be taken back would wake all other waiters.
      const { by } = yield* removeNested(claim, nesting)
      if (by !== undefined) return { answer: refusedBy(by, observation) }
    }
    const numbers = yield* this.#waitersBefore(waiting)
    if (numbers.length === 0) return decision
    const wasStale = tookOver.some((each) => areInConflict(each, claim))
    const reservation = yield* findReservation(register, key, claim, view, { wasStale, numbers })
    if (reservation === undefined) return decision
    const by = claimOf(reservation.waiter, observation)
    const refused: Refused = { granted: false, by, retryAfterMs: reservation.leftMs }
    // Removing the stale claims tells the waiter that they are gone, and dates that.
    const left = record.claims.filter((each) => !tookOver.includes(each))
    return wasStale ? { next: { ...record, claims: left }, answer: refused } : { answer: refused }
  }

  /** The numbers of the parties that have a place in the queue before this one; none if it cannot be read. */
  *#waitersBefore(waiting: Waiting | undefined): Steps<unknown, number[]> {
    const { waiters } = this.register
    if (waiters === undefined || waiting?.isFirst) return []
    const before = waiting?.number ?? Number.POSITIVE_INFINITY
    try {
      return (yield* waiters.numbers(this.key)).filter((number) => number < before)
    } catch {
      return []
    }
  }

  /** Claims what the request asks for; waits for `waitMs` while it is refused, then throws `LOCK_HELD`. */
  async acquire(given: AcquireRequest, options: WaitOptions = {}): Promise<Decided<Granted>> {
    const request = { ...given, descent: once(given.descent) }
    const { answer, ...view } = await this.claim(acquiring(request), claimantOf(request), options)
    if (answer.granted) return { answer, ...view }
    throw heldError(this, answer, view, options.waitMs, await this.waiters(view))
  }

  acquireSync(given: AcquireRequest, waitMs = 0): Decided<Granted> {
    const request = { ...given, descent: once(given.descent) }
    const { answer, ...view } = this.claimSync(acquiring(request), claimantOf(request), { waitMs })
    if (answer.granted) return { answer, ...view }
    throw heldError(this, answer, view, waitMs, this.waitersSync(view))
  }

  /**
   * Changes the claims by a decision that may grant one, and waits for `waitMs` while it refuses. Takes a
   * grant back that conflicts elsewhere.
   */
  async claim<Answer extends AcquireAnswer | { granted: true }>(
    decide: Decide<Answer>,
    claimant: Claimant,
    { waitMs = 0, signal }: WaitOptions = {},
  ): Promise<Decided<Answer | Refused>> {
    const note = ({ answer, observation }: Decided<Answer | Refused>, kind: 'wait' | 'refusal') =>
      'by' in answer ? this.activity.noteBlocked(kind, claimant, answer.by, observation.now) : undefined
    signal?.throwIfAborted()
    let decided = this.activity.noteChange(await runAsync(this.register, this.#claim(decide, claimant)))
    if (!decided.answer.granted && waitMs > 0) {
      const waiting = this.#waiting(claimant, waitMs)
      try {
        await note(decided, 'wait')
        while (!decided.answer.granted && !waiting.isOver) {
          await waiting.pause(decided, decided.answer, signal)
          signal?.throwIfAborted()
          decided = this.activity.noteChange(
            await runAsync(this.register, this.#claim(decide, claimant, waiting)),
          )
        }
      } finally {
        await waiting.end()
      }
    }
    await note(decided, 'refusal')
    return decided
  }

  /** `noteAs`: a refusal is noted as the begin of a wait, if the caller is going to wait in another way. */
  claimSync<Answer extends AcquireAnswer | { granted: true }>(
    decide: Decide<Answer>,
    claimant: Claimant,
    { waitMs = 0, noteAs = 'refusal' }: { waitMs?: number; noteAs?: 'wait' | 'refusal' } = {},
  ): Decided<Answer | Refused> {
    const note = ({ answer, observation }: Decided<Answer | Refused>, kind: 'wait' | 'refusal') =>
      'by' in answer && this.activity.noteBlockedSync(kind, claimant, answer.by, observation.now)
    let decided = this.activity.noteChange(runSync(this.register, this.#claim(decide, claimant)))
    if (!decided.answer.granted && waitMs > 0) {
      const waiting = this.#waiting(claimant, waitMs)
      try {
        note(decided, 'wait')
        while (!decided.answer.granted && !waiting.isOver) {
          waiting.pauseSync(decided, decided.answer)
          decided = this.activity.noteChange(runSync(this.register, this.#claim(decide, claimant, waiting)))
        }
      } finally {
        waiting.endSync()
      }
    }
    note(decided, noteAs)
    return decided
  }

  #waiting(claimant: Claimant, waitMs: number): Waiting {
    return new Waiting(this.register, this.key, claimant, waitMs, (view) => this.#stored.isUnchanged(view))
  }

  /** The parties that wait for a claim here, in the order in which they are served. */
  waiters({ observation }: ClaimsView): Promise<Waiter[]> {
    return runAsync(this.register, listWaiters(this.register, this.key, observation))
  }

  waitersSync({ observation }: ClaimsView): Waiter[] {
    return runSync(this.register, listWaiters(this.register, this.key, observation))
  }

  /** Extends a session's own claim; the answer has no claim if it was lost. */
  refresh(request: RefreshRequest): Promise<Decided<{ claim?: Claim }>> {
    return this.change(refreshing(request))
  }

  refreshSync(request: RefreshRequest): Decided<{ claim?: Claim }> {
    return this.changeSync(refreshing(request))
  }

  /** Gives up a session's own claim, or some of its paths or holders. */
  async release(request: ReleaseRequest): Promise<ReleaseAnswer> {
    return (await this.change(releasing(request))).answer
  }

  releaseSync(request: ReleaseRequest): ReleaseAnswer {
    return this.changeSync(releasing(request)).answer
  }

  /** The session's claim, if it is in force and, where a fence is given, was never lost since that fence. */
  async check(sessionId: string, fence?: number): Promise<Claim | undefined> {
    const { record, observation } = await this.read()
    return checkClaim(record, sessionId, fence, observation)
  }

  /** Removes another session's claim, and records who did it and why. */
  async break(
    claim: Pick<Claim, 'session_id' | 'fence'>,
    by: Omit<BrokenClaim, 'session_id' | 'fence'>,
  ): Promise<BreakAnswer> {
    return (await this.change((record) => decideBreak(record, claim, by))).answer
  }

  /** The claim that would refuse this request now. */
  findBlocker(request: AcquireRequest): Promise<Blocker | undefined> {
    return runAsync(this.register, this.#findBlocker(acquiring(request), request))
  }

  /** Resolves when the request would be granted, without making it; throws `LOCK_HELD` after `waitMs`. */
  async untilFree(
    given: AcquireRequest,
    { waitMs = Number.POSITIVE_INFINITY, signal }: WaitOptions = {},
  ): Promise<void> {
    const end = systemClock.mono() + waitMs
    const request = { ...given, descent: once(given.descent) }
    const decide = acquiring(request)
    let hints = new ChangeHints()
    try {
      for (;;) {
        signal?.throwIfAborted()
        if (!hints.isWatching) hints = new ChangeHints(this.register, this.key)
        const blocker = await runAsync(this.register, this.#findBlocker(decide, request))
        if (blocker === undefined) return
        const leftMs = end - systemClock.mono()
        if (leftMs <= 0) throw heldError(this, blocker.refused, blocker, waitMs, await this.waiters(blocker))
        await hints.next(Math.min(lookEveryMs, leftMs), signal)
      }
    } finally {
      hints.stop()
    }
  }

  *#findBlocker(decide: Decide<AcquireAnswer>, request: AcquireRequest): Steps<unknown, Blocker | undefined> {
    const view = yield* this.#stored.read()
    const { record, observation } = view
    const decision = decide(record, observation, 0, undefined)
    const nesting = this.#nesting(request)
    const { answer } = yield* this.#review(decision, view, undefined, nesting)
    if (!answer.granted) return { ...view, refused: answer }
    const { by } = nesting === undefined ? {} : yield* findNested(answer.claim, nesting)
    return by && { ...view, refused: refusedBy(by, observation) }
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
    return runAsync(this.register, this.register.now(this.key))
  }
}

/** A function that calls the given one at most once: a waiter tries often, and its ancestors stay. */
function once<Value>(read: (() => Value) | undefined): (() => Value) | undefined {
  let value: Value | undefined
  return read && (() => (value ??= read()))
}

/** A claim that has stayed unchanged before the eyes of this waiter for longer than it lasts has expired. */
function acquiring(request: AcquireRequest): Decide<AcquireAnswer> {
  const firstSeenMs = new Map<string, number>()
  const outlasted = (claim: Claim): boolean => {
    const version = `${claim.session_id} ${claim.fence} ${claim.refreshed_at}`
    const now = systemClock.mono()
    const since = firstSeenMs.get(version) ?? now
    firstSeenMs.set(version, since)
    const isBusy = claim.holders.some(({ calls }) => calls.length > 0)
    return now - since > (isBusy ? claim.busy_ttl_ms : claim.ttl_ms)
  }
  return (record, observation, fence, tried) =>
    decideAcquire(record, request, { ...observation, outlasted }, fence, tried)
}

const refreshing =
  (request: RefreshRequest): Decide<{ claim?: Claim }> =>
  (record, observation) =>
    decideRefresh(record, request, observation)

const releasing =
  (request: ReleaseRequest): Decide<ReleaseAnswer> =>
  (record, _observation, _fence, tried) =>
    decideRelease(record, request, tried)

/** The party that makes a request. */
const claimantOf = (request: AcquireRequest): Claimant => ({
  session_id: request.sessionId,
  pid: request.holder?.pid ?? null,
  paths: request.paths,
  mode: request.mode,
  purpose: request.purpose ?? null,
  parent: request.parent,
  descent: request.descent,
  origin: request.origin,
})

/** Whether the session has no claim in force yet, and works for none that has: such a party never queues. */
const isNewIn = (record: ClaimsRecord, claim: Claim, observation: Observation): boolean =>
  record.claims.every(({ first_fence }) => first_fence !== claim.first_fence) &&
  !holdsHere(claim, record, observation)
