import { StintError } from '../base/errors/stint-error.ts'
import { systemClock } from '../base/process/clock.ts'
import { type Identity, type Liveness, liveness as processLiveness } from '../base/process/liveness.ts'
import { thisMachine } from '../base/process/platform.ts'
import { readProcessTable } from '../base/process/process-table.ts'
import { ActivityLog } from './activity-log.ts'
import { type BrokenClaim, type Claim, type ClaimsRecord, noClaims, parseClaimsRecord } from './claim.ts'
import { isTurnOver, sessionWork } from './evidence.ts'
import { isInForce, type Observation } from './force.ts'
import { heldError } from './claim-words.ts'
import {
  checkClaim,
  decideBreak,
  decideEndTurn,
  decideRelease,
  decideRenew,
  type EndTurnRequest,
  type Released,
  type ReleaseRequest,
  type RenewRequest,
} from './own-claims.ts'
import type { LeaseStore, Now } from './register.ts'
import {
  type AcquireAnswer,
  type AcquireRequest,
  areInConflict,
  decideAcquire,
  type Decision,
  type Granted,
  overlap,
  type Refused,
} from './rules.ts'
import { listWaiters, showWaiter, Wait, type Waiter } from './waiting.ts'
import {
  leaseTarget,
  type LeaseTarget,
  outsideName,
  pathsInTarget,
  wholeTarget,
  type Workspace,
} from './workspace.ts'

/** The record of an epoch. */
interface KnownRecord {
  epoch: number
  record: ClaimsRecord
}

/** The claims on a workspace or resource at one moment. */
export interface ClaimsView extends KnownRecord {
  observation: Observation
}

/** Who holds a workspace or resource, and who waits for it, the one that has waited longest first. */
export interface TargetStatus {
  /** Those in force. */
  claims: Claim[]
  waiters: Waiter[]
  observation: Observation
}

/** The answer of a decision that was carried out, and the claims after it, changed or not. */
export interface Decided<Answer> extends ClaimsView {
  answer: Answer
  /** This process's monotonic clock, in milliseconds, before the register's time was read. */
  startedAtMs: number
}

/**
 * Decides about claims. `before` is the answer of an earlier attempt whose swap looked lost: it may have won
 * and been overtaken at once, and then `record` contains its result. So a decision must have the same effect
 * if it is made twice.
 */
export type Decide<Answer> = (
  record: ClaimsRecord,
  observation: Observation,
  nextFence: number,
  before?: Answer,
) => Decision<Answer> | Promise<Decision<Answer>>

export interface WaitOptions {
  /** How long to wait while the request is refused, in milliseconds; by default not at all. */
  waitMs?: number
  signal?: AbortSignal
  /** Called when the wait begins; the signal that it returns ends the wait. */
  onWait?: () => AbortSignal
}

/** How long the last holder lets a waiter go first; no longer than it may wait itself, if it may. */
const courtesyMs = 1000

/**
 * The claims on one workspace or resource. Every method reads the record from the register; a change is
 * decided on it and swapped in, and decided again if another writer came in between.
 */
export class WorkspaceClaims {
  readonly store: LeaseStore
  readonly target: LeaseTarget
  readonly activity: ActivityLog

  /** The claims on the workspace around a directory (the current one by default), a file or a resource. */
  static open(
    store: LeaseStore,
    target: { workspace?: string | Workspace; resource?: string; file?: string } = {},
  ): WorkspaceClaims {
    return new this(store, leaseTarget(target, store))
  }

  /** The claims of a key, by the name in its record; undefined if it has none, or a damaged one. */
  static async ofKey(store: LeaseStore, key: string): Promise<WorkspaceClaims | undefined> {
    const { text } = await store.register.read(key)
    const record = text === undefined ? undefined : parseClaimsRecord(text)
    return record && new this(store, wholeTarget(key, record.workspace))
  }

  constructor(store: LeaseStore, target: LeaseTarget) {
    this.store = store
    this.target = target
    this.activity = new ActivityLog(store.activity, target.key)
  }

  get key(): string {
    return this.target.key
  }

  /** The path or repository of a workspace, or the name of a resource. */
  get name(): string {
    return this.target.name
  }

  /** The name for people: outside of repositories, the path that was asked about. */
  get title(): string {
    const { name, path } = this.target
    return name === outsideName ? (path ?? name) : name
  }

  /** Whether paths are at, above or below the target. All are, but outside of repositories. */
  isHere({ paths }: { paths: readonly string[] }): boolean {
    if (this.target.whole.includes('**')) return true
    return overlap({ paths, mode: 'exclusive' }, { paths: this.target.whole, mode: 'exclusive' })
  }

  /** Paths in the form of claims, relative ones from the directory `from`; the whole workspace by default. */
  pathsOf(paths: readonly string[], from?: string): readonly string[] {
    return paths.length === 0 ? this.target.whole : pathsInTarget(this.target, this.store, paths, from)
  }

  /** The claims now. A known record is not read again while its epoch is the latest. */
  async read(known?: KnownRecord): Promise<ClaimsView> {
    const { epoch, text, now } = await this.store.register.read(this.key, known?.epoch)
    const record = epoch === known?.epoch ? known.record : this.#parse(text)
    return { epoch, record, observation: this.observe(now) }
  }

  /** Who holds the target now, and who waits; outside of repositories, also above and below it. */
  async status(): Promise<ClaimsView & TargetStatus> {
    const view = await this.read()
    const { record, observation } = view
    return {
      ...view,
      claims: record.claims.filter((claim) => this.isHere(claim) && isInForce(claim, observation)),
      waiters: (await this.waiters(view)).filter((waiter) => this.isHere(waiter)),
    }
  }

  /** Replaces the claims by what `decide` makes of them; decides again if another writer was faster. */
  async change<Answer>(decide: Decide<Answer>, known?: KnownRecord): Promise<Decided<Answer>> {
    for (let before: Answer | undefined; ;) {
      const startedAtMs = systemClock.mono()
      const view = await this.read(known)
      const { epoch, record, observation } = view
      const fence = nextFence(record, observation.now)
      const { next, answer } = await decide(record, observation, fence, before)
      if (next === undefined) return { answer, ...view, startedAtMs }
      if (await this.store.register.swap(this.key, epoch, JSON.stringify(next))) {
        this.activity.noteChange(record, next, observation.now)
        return { answer, epoch: epoch + 1, record: next, observation, startedAtMs }
      }
      before = answer
    }
  }

  /** Claims what the request asks for; waits for `waitMs` while it is refused, then throws `LOCK_HELD`. */
  async acquire(request: AcquireRequest, options: WaitOptions = {}): Promise<Decided<Granted>> {
    const { answer, ...view } = await this.tryAcquire(request, options)
    if (answer.granted) return { answer, ...view }
    throw heldError(this, answer, view, options.waitMs, await this.waiters(view))
  }

  /** Claims what the request asks for, or answers with the claim in the way after a wait of `waitMs`. */
  async tryAcquire(
    { descent, ...rest }: AcquireRequest,
    options: WaitOptions = {},
  ): Promise<Decided<AcquireAnswer>> {
    // A waiter tries often, and its ancestors stay.
    const request = { ...rest, descent: descent && once(descent) }
    const { waitMs = 0, signal, onWait } = options
    signal?.throwIfAborted()
    const endMs = systemClock.mono() + waitMs
    let decided = await this.#acquireAfterWaiters(request, options)
    const leftMs = endMs - systemClock.mono()
    if (!decided.answer.granted && leftMs > 0)
      decided = await this.#wait(request, decided, leftMs, onWait?.() ?? signal)
    if (!decided.answer.granted)
      await this.activity.noteBlocked('refusal', request, decided.answer.by, decided.observation.now)
    return decided
  }

  /** The last holder waits for up to a second if a party waits: a loop of short turns starves nobody. */
  async #acquireAfterWaiters(request: AcquireRequest, options: WaitOptions): Promise<Decided<AcquireAnswer>> {
    const decide = decisionOn(request)
    const attempt = () =>
      this.change<AcquireAnswer | undefined>(async (record, observation, fence, before) => {
        const decision = decide(record, observation, fence, before)
        const { answer } = decision
        if (record.last !== request.sessionId || !answer.granted || !answer.isNew) return decision
        const waiters = await this.waiters({ observation })
        const isAwaited = waiters.some((waiter) => areInConflict(waiter, answer.claim))
        return isAwaited ? { answer: undefined } : decision
      })
    const first = await attempt()
    if (isAnswered(first)) return first
    const waitMs = Math.min(courtesyMs, options.waitMs || courtesyMs)
    using wait = new Wait(this.store, this.key, waitMs, options.signal)
    const last = await wait.retry(first, isAnswered, attempt)
    return isAnswered(last) ? last : await this.change(decide)
  }

  async #wait(
    request: AcquireRequest,
    refused: Decided<AcquireAnswer>,
    waitMs: number,
    signal: AbortSignal | undefined,
  ): Promise<Decided<AcquireAnswer>> {
    using wait = new Wait(this.store, this.key, waitMs, signal)
    const attempt = () => this.change(decisionOn(request))
    const isGranted = ({ answer }: Decided<AcquireAnswer>): boolean => answer.granted
    const decided = await wait.retry(refused, (latest) => isGranted(latest) || wait.isLong, attempt)
    if (decided.answer.granted || wait.isOver) return decided
    const { waiters } = this.store
    const leave = await showWaiter(waiters, this.key, request, waitMs, refused.observation.now)
    try {
      await this.activity.noteBlocked('wait', request, decided.answer.by, decided.observation.now)
      return await wait.retry(decided, isGranted, attempt)
    } finally {
      await leave()
    }
  }

  /** The parties that wait for a claim here, the one that has waited longest first. */
  waiters({ observation }: Pick<ClaimsView, 'observation'>): Promise<Waiter[]> {
    return listWaiters(this.store.waiters, this.key, observation)
  }

  /** Renews a session's own claims; the answer has no claim if they were lost. */
  renew(request: RenewRequest): Promise<Decided<{ claim?: Claim }>> {
    return this.change((record, observation) => decideRenew(record, request, observation))
  }

  /** Ends the turn of a session. */
  endTurn(request: EndTurnRequest): Promise<Decided<void>> {
    return this.change((record, observation) => decideEndTurn(record, request, observation))
  }

  /** Gives up a session's own claims, or some of their paths or holders. */
  async release(request: ReleaseRequest, known?: KnownRecord): Promise<Released> {
    const { answer } = await this.change<Released>((record, _observation, _fence, before) => {
      const decision = decideRelease(record, request)
      const released = decision.answer.released || before?.released === true
      return { ...decision, answer: { ...decision.answer, released } }
    }, known)
    return answer
  }

  /** The session's claim, if it is in force and, where a fence is given, was never lost since that fence. */
  async check(sessionId: string, fence?: number): Promise<Claim | undefined> {
    const { record, observation } = await this.read()
    return checkClaim(record, sessionId, fence, observation)
  }

  /** Removes another session's claim, and records who did it and why; false if it was gone already. */
  async break(
    claim: Pick<Claim, 'session_id' | 'fence'>,
    by: Omit<BrokenClaim, 'session_id' | 'fence'>,
  ): Promise<boolean> {
    return (await this.change((record) => decideBreak(record, claim, by))).answer
  }

  /** The refusal that this request would get now; undefined if it would be granted. */
  async findBlocker(request: AcquireRequest): Promise<(ClaimsView & { refused: Refused }) | undefined> {
    const view = await this.read()
    const { answer } = decideAcquire(view.record, request, view.observation, 0)
    return answer.granted ? undefined : { ...view, refused: answer }
  }

  /** Resolves when the request would be granted, without making it; throws `LOCK_HELD` after `waitMs`. */
  async untilFree(
    { descent, ...rest }: AcquireRequest,
    { waitMs = Infinity, signal }: WaitOptions = {},
  ): Promise<void> {
    signal?.throwIfAborted()
    const request = { ...rest, descent: descent && once(descent) }
    const look = () => this.findBlocker(request)
    using wait = new Wait(this.store, this.key, waitMs, signal)
    const blocker = await wait.retry(await look(), (latest) => latest === undefined, look)
    if (blocker !== undefined)
      throw heldError(this, blocker.refused, blocker, waitMs, await this.waiters(blocker))
  }

  /** Calls back when the claims may have changed; undefined where the register cannot be watched. */
  watch(onChange: () => void): (() => void) | undefined {
    try {
      return this.store.register.watch(this.key, onChange)
    } catch {
      return undefined
    }
  }

  /** What the machine shows at this moment. The explorer shows its own machine instead. */
  protected observe(now: Now): Observation {
    return observationIn(this.store)(now, this.target.path)
  }

  #parse(text: string | undefined): ClaimsRecord {
    const record = text === undefined ? undefined : parseClaimsRecord(text)
    if (record === undefined) return noClaims(this.name)
    if (record.workspace === this.name) return record
    const { key, name } = this.target
    throw new StintError('LOCK_KEY_COLLISION', `${name} and ${record.workspace} have the same key ${key}`, {
      detail: `key=${key} theirs=${record.workspace}`,
    })
  }
}

const isAnswered = (decided: Decided<AcquireAnswer | undefined>): decided is Decided<AcquireAnswer> =>
  decided.answer !== undefined

/** Decides on a request. A grant that was overtaken after its swap is in the record, and is still new. */
const decisionOn =
  (request: AcquireRequest) =>
  (record: ClaimsRecord, observation: Observation, fence: number, before?: AcquireAnswer) => {
    const decision = decideAcquire(record, request, observation, fence)
    const { answer } = decision
    const isFound = answer.granted && !answer.isNew && before?.granted
    if (!isFound || answer.claim.fence !== before.claim.fence) return decision
    return { ...decision, answer: { ...before, claim: answer.claim } }
  }

/**
 * The fence of the next grant: the wall clock in milliseconds, or the number after the last one. A key whose
 * last records a power cut has lost goes on above them, as they had the time of their grant.
 */
const nextFence = ({ fence }: ClaimsRecord, { wall }: Now): number =>
  Math.max(fence + 1, Math.min(Math.floor(wall), 2 ** 52) || 0)

/** A function that calls the given one at most once. */
function once<Value>(read: () => Value): () => Value {
  let value: Value | undefined
  return () => (value ??= read())
}

/**
 * Observes claims in a store, each with the workspace that it is on, if that is no resource. Every process is
 * looked at once, and the process table is read when a rule first asks for it.
 */
export function observationIn({ shared }: LeaseStore): (now: Now, workspace?: string) => Observation {
  const liveness = lookingOnce(shared === undefined ? processLiveness : livenessInThisBoot)
  const processTable = once(readProcessTable)
  return (now, workspace) => ({
    now,
    liveness,
    work: (claim) => (workspace === undefined ? [] : sessionWork(claim, workspace, processTable)),
    isTurnOver,
  })
}

/** The rules ask about a holder again and again, and judge one moment. */
export function lookingOnce(look: Observation['liveness']): Observation['liveness'] {
  const seen = new Map<string, Liveness>()
  return (process) => {
    const { pid, started, boot, host, pidns, timens, thread } = process
    const name = `${pid} ${started} ${boot} ${host} ${pidns} ${timens} ${thread?.tid}`
    const life = seen.get(name) ?? look(process)
    seen.set(name, life)
    return life
  }
}

/** For a shared store. Clones of one image have one machine id, so only this boot's dead are known. */
function livenessInThisBoot(process: Identity): Liveness {
  const { boot } = thisMachine()
  return boot !== '' && process.boot === boot ? processLiveness(process) : 'unknown'
}
