import { existsSync } from 'node:fs'
import { relative } from 'node:path'
import { foldNames } from '../base/fs/canonical-path.ts'
import { isWithin } from '../base/fs/paths.ts'
import { systemClock } from '../base/process/clock.ts'
import { type Identity, type Liveness, liveness } from '../base/process/liveness.ts'
import { thisMachine } from '../base/process/platform.ts'
import { ActivityLog } from './activity-log.ts'
import {
  type BrokenClaim,
  type Claim,
  type ClaimsRecord,
  parseClaimsRecord,
  wholeWorkspace,
} from './claim-record.ts'
import { maxRetryAfterMs, type Observation, remainingMs } from './claim-status.ts'
import { isDeserted } from './claim-work.ts'
import {
  isWorkspaceKey,
  type LeaseTarget,
  pathsInTarget,
  resourceTarget,
  type Workspace,
  workspaceTarget,
} from './lease-target.ts'
import { heldError } from './lock-held-error.ts'
import { runAsync, runSync } from '../base/process/run-generator.ts'
import type { Now, Register, Steps } from './register.ts'
import {
  type AcquireAnswer,
  type AcquireRequest,
  areInConflict,
  type BreakAnswer,
  checkClaim,
  covers,
  decideAcquire,
  decideAncestors,
  decideBreak,
  decideRefresh,
  decideRelease,
  decideWithdraw,
  decideYield,
  type Decision,
  holdsHere,
  type RefreshRequest,
  type ReleaseAnswer,
  type ReleaseRequest,
  type YieldAnswer,
} from './rules.ts'
import { type Decided, type ClaimsView, type Decide, type Review, StoredClaims } from './stored-claims.ts'
import { claimOf, findReservation, listWaiters, type Waiter } from './waiters.ts'
import { ChangeHints, type Claimant, lookEveryMs, Waiting } from './waiting.ts'

export type Granted = Extract<AcquireAnswer, { granted: true }>
export type Refused = Extract<AcquireAnswer, { granted: false }>

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

  /**
   * A directory without git is its own workspace, and so is each directory in it: their claims are in
   * different records, and conflict if they overlap. Each side writes its claim first and then looks for
   * others, so of two that claim at the same moment at least one sees the other. A new claim stays marked as
   * unconfirmed until its session claims again: its writer may have been killed before it had looked.
   */
  *#claim<Answer extends AcquireAnswer | { granted: true }>(
    decide: Decide<Answer>,
    claimant: Claimant,
    waiting?: Waiting,
  ): Steps<unknown, Decided<Answer | Refused>> {
    const path = this.#nestingPath
    const review: Review<Answer, Refused> = (decision, view) =>
      this.#review(decision, view, claimant, waiting)
    if (path === undefined) return yield* this.#stored.change(decide, review)
    // What the session had before each attempt: a later one may find the claim of the first.
    const before: (Claim | undefined)[] = []
    let confirmedFence: number | undefined
    for (;;) {
      let isNew = false
      const decided = yield* this.#stored.change<Answer, Refused>((record, observation, fence, tried) => {
        const decision = decide(record, observation, fence, tried)
        const { next, answer } = decision
        if (next === undefined || !('claim' in answer)) return decision
        const { claim } = answer
        const own = record.claims.find(
          (each) => each.session_id === claim.session_id || each.fence === claim.fence,
        )
        // A killed writer has left the claim: look above and below before the session uses it.
        if (own?.unconfirmed && own.fence !== confirmedFence && !isDeserted(own, observation))
          return { answer: { ...answer, claim: own } }
        before.push(own)
        isNew = claim.fence === fence
        if (!isNew) return decision
        const marked: Claim = { ...claim, unconfirmed: true }
        const claims = next.claims.map((each) => (each === claim ? marked : each))
        return { next: { ...next, claims }, answer: { ...answer, claim: marked } }
      }, review)
      const { answer, observation } = decided
      if (!('claim' in answer) || !answer.claim.unconfirmed) return decided
      const { claim } = answer
      let by: Claim | undefined
      let ancestors: string[] | undefined
      let isFree = false
      try {
        ;({ by, ancestors } = yield* this.#findNested(claim, path, claimant))
        isFree = by === undefined
      } finally {
        if (!isFree) yield* this.#stored.change((record) => decideWithdraw(record, claim, before[0]))
      }
      // The grant was taken back: for the history, nothing has changed.
      if (by !== undefined) return { ...decided, before: undefined, answer: refusedBy(by, observation) }
      const found = ancestors
      if (found !== undefined) yield* this.#stored.change((record) => decideAncestors(record, claim, found))
      if (isNew) return decided
      confirmedFence = claim.fence
    }
  }

  /** The path of a directory whose claims can conflict with those of directories above and below. */
  get #nestingPath(): string | undefined {
    const { path } = this.target
    return path === undefined || this.register.shared !== undefined || isRepository(path) ? undefined : path
  }

  /** Lets waiters go first: a new claim is refused while the register keeps it for one that came earlier. */
  *#review<Answer extends AcquireAnswer | { granted: true }>(
    decision: Decision<Answer>,
    { record, observation }: ClaimsView,
    claimant: Claimant,
    waiting: Waiting | undefined,
  ): Steps<unknown, Decision<Answer | Refused>> {
    const { answer } = decision
    if (!('tookOver' in answer) || !isNewIn(record, answer.claim, observation)) return decision
    const { claim, tookOver } = answer
    const { register, key } = this
    const path = waiting === undefined ? undefined : this.#nestingPath
    if (path !== undefined) {
      // A claim that is written only to be taken back would wake all other waiters.
      const { by } = yield* this.#findNested(claim, path, claimant)
      if (by !== undefined) return { answer: refusedBy(by, observation) }
    }
    if (!(yield* this.#hasWaiters(waiting?.number))) return decision
    const wasStale = tookOver.some((each) => areInConflict(each, claim))
    const choice = { wasStale, before: waiting?.number }
    const reservation = yield* findReservation(register, key, claim, { record, observation }, choice)
    if (reservation === undefined) return decision
    const by = claimOf(reservation.waiter, observation)
    const refused: Refused = { granted: false, by, retryAfterMs: reservation.leftMs }
    // Removing the stale claims tells the waiter that they are gone, and dates that.
    const left = record.claims.filter((each) => !tookOver.includes(each))
    return wasStale ? { next: { ...record, claims: left }, answer: refused } : { answer: refused }
  }

  /** Whether any party has a place in the queue before this number; false if that cannot be read. */
  *#hasWaiters(before = Number.POSITIVE_INFINITY): Steps<unknown, boolean> {
    const { waiters } = this.register
    try {
      return waiters !== undefined && (yield* waiters.numbers(this.key)).some((number) => number < before)
    } catch {
      return false
    }
  }

  /**
   * Looks for a claim in force on a directory above or below this one that conflicts with a claim here. Also
   * removes stale ones that do, unless it is only to look.
   */
  *#findNested(
    claim: Claim,
    path: string,
    { descent }: Pick<Claimant, 'descent'>,
    onlyLook = false,
  ): Steps<unknown, YieldAnswer> {
    const { register, key } = this
    const ancestors = new Set(claim.ancestors)
    for (const other of (yield* register.keys()).filter((each) => isWorkspaceKey(each) && each !== key)) {
      const { text } = yield* register.read(other)
      // Most workspaces are free: do not parse their records.
      const record = text === undefined || text.startsWith('free ') ? undefined : parseClaimsRecord(text, '')
      if (record === undefined || record.claims.length === 0) continue
      const paths = pathsFrom(record.workspace, path, claim.paths)
      if (paths === undefined || isRepository(record.workspace)) continue
      const stored = new StoredClaims(register, { key: other, name: record.workspace }, livenessFor(register))
      const decide = (record: ClaimsRecord, observation: Observation): Decision<YieldAnswer> =>
        decideYield(record, { ...claim, ancestors: [...ancestors], paths }, observation, descent)
      const view = onlyLook ? yield* stored.read() : undefined
      const { answer } = view ? decide(view.record, view.observation) : yield* stored.change(decide)
      if (answer.by !== undefined) return answer
      for (const each of answer.ancestors ?? []) ancestors.add(each)
    }
    return { ancestors: ancestors.size === (claim.ancestors?.length ?? 0) ? undefined : [...ancestors] }
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
      const waiting = new Waiting(this.register, this.key, claimant, waitMs)
      try {
        await note(decided, 'wait')
        while (!decided.answer.granted && !waiting.isOver) {
          await waiting.pause(decided, decided.answer.retryAfterMs, signal)
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
      const waiting = new Waiting(this.register, this.key, claimant, waitMs)
      try {
        note(decided, 'wait')
        while (!decided.answer.granted && !waiting.isOver) {
          waiting.pauseSync(decided, decided.answer.retryAfterMs)
          decided = this.activity.noteChange(runSync(this.register, this.#claim(decide, claimant, waiting)))
        }
      } finally {
        waiting.endSync()
      }
    }
    note(decided, noteAs)
    return decided
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

  checkSync(sessionId: string, fence?: number): Claim | undefined {
    const { record, observation } = this.readSync()
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
    const { answer } = yield* this.#review(decision, view, claimantOf(request), undefined)
    if (!answer.granted) return { ...view, refused: answer }
    const path = this.#nestingPath
    const { by } = path === undefined ? {} : yield* this.#findNested(answer.claim, path, request, true)
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
  get origin() {
    return request.origin?.()
  },
})

const refusedBy = (by: Claim, observation: Observation): Refused => ({
  granted: false,
  by,
  retryAfterMs: Math.ceil(remainingMs(by, observation, maxRetryAfterMs)),
})

/** Whether the session has no claim in force yet, and works for none that has: such a party never queues. */
const isNewIn = (record: ClaimsRecord, claim: Claim, observation: Observation): boolean =>
  record.claims.every(({ first_fence }) => first_fence !== claim.first_fence) &&
  !holdsHere(claim, record, observation)

const isRepository = (path: string): boolean => existsSync(`${path}/.git`)

/**
 * Paths in one directory as paths of another that is above or below it; undefined if they do not overlap, or
 * if the other is not a directory but a resource.
 */
function pathsFrom(other: string, path: string, paths: readonly string[]): string[] | undefined {
  if (isWithin(path, other)) {
    const inside = claimPathOf(other, path)
    return paths.map((each) => (each === '**' ? inside : `${inside}/${each}`))
  }
  if (!isWithin(other, path)) return undefined
  const inside = claimPathOf(path, other)
  if (paths.some((each) => covers(each, inside))) return [...wholeWorkspace]
  const below = paths.filter((each) => each.startsWith(`${inside}/`))
  return below.length === 0 ? undefined : below.map((each) => each.slice(inside.length + 1))
}

/** The path of a directory in another one, in the form of claims. */
const claimPathOf = (outer: string, inner: string): string =>
  foldNames(outer, relative(outer, inner).split('/')).join('/')

/** How liveness is judged for the holders in a register. */
export const livenessFor = ({ shared }: Register): ((process: Identity) => Liveness) =>
  shared ? livenessInThisBoot : liveness

/** For a shared register. Clones of one image have one machine id, so only this boot's dead are known. */
function livenessInThisBoot(process: Identity): Liveness {
  const { boot } = thisMachine()
  return boot !== '' && process.boot === boot ? liveness(process) : 'unknown'
}
