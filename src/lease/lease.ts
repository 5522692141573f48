import { StintError } from '../base/errors/stint-error.ts'
import { systemClock } from '../base/process/clock.ts'
import { type Identity, identify, ownIdentity } from '../base/process/liveness.ts'
import { readOrigin } from '../base/process/origin.ts'
import { durationMs, timerMs } from '../base/text/duration.ts'
import { visibleText } from '../base/text/escape.ts'
import { isString } from '../base/text/fields.ts'
import { isSessionId } from '../base/text/id.ts'
import { type Claim, type ClaimMode, defaultTtlMs, maxTtlMs } from './claim.ts'
import { homeStore } from './file-register.ts'
import { readDescent } from './party.ts'
import type { LeaseStore } from './register.ts'
import {
  checkClaim,
  type RenewRequest,
  type ReleaseRequest,
  type LeaseLoss,
  lossIn,
  lossText,
} from './own-claims.ts'
import { type AcquireRequest, type Granted } from './rules.ts'
import { type ClaimsView, type Decided, WorkspaceClaims } from './workspace-claims.ts'
import type { Workspace } from './workspace.ts'

export interface LeaseOptions {
  sessionId: string
  /** Any directory in the workspace (by default the current one), or a result of `findWorkspace`. */
  workspace?: string | Workspace
  /** A resource instead of a workspace: any text of 1 to 4,096 bytes that its users agree on. */
  resource?: string
  /** A file instead of a workspace, under whatever path; it need not exist. */
  file?: string
  /** Files or directories to claim, relative to the current directory; by default the whole workspace. */
  paths?: readonly string[]
  mode?: ClaimMode
  /** How long the claim lasts without a refresh, in milliseconds; 5 minutes by default. */
  ttlMs?: number
  /**
   * How long to wait for another session: milliseconds, or a string like `10s`; by default not at all, but
   * for the second in which the last holder lets a waiter go first.
   */
  wait?: string | number
  signal?: AbortSignal
  /** What you are doing; shown to sessions that are refused. */
  purpose?: string
  /** The process that the claim belongs to, by default this one; `null`: none, only its time ends it. */
  pid?: number | null
  /** Where leases are kept; by default the files in `STINT_HOME`. */
  store?: LeaseStore
}

/**
 * Claims a workspace, or paths in it, and keeps the claim fresh until it is released.
 *
 * @example
 * await using lease = await acquireLease({ sessionId: 'ses_1', purpose: 'refactoring', wait: '10s' })
 * lease.signal.addEventListener('abort', stopWriting)
 */
export async function acquireLease(options: LeaseOptions): Promise<Lease> {
  const { claims, request, waitMs } = prepareLease(options)
  return new Lease(claims, request, await claims.acquire(request, { waitMs, signal: options.signal }))
}

/** A claim that this process holds: see `acquireLease`. */
export class Lease {
  readonly sessionId: string
  /** The path of the workspace, its repository where machines share it, or the name of the resource. */
  readonly workspace: string
  readonly workspaceKey: string
  readonly #claims: WorkspaceClaims
  readonly #holders: Identity[]
  readonly #ttlMs: number
  readonly #timer: NodeJS.Timeout
  /** The grant, or the last successful refresh. */
  #latest: Decided<{ claim: Claim }>
  /** Declares the lease lost if no refresh succeeds in time. */
  #deadline: NodeJS.Timeout | undefined
  #isOver = false
  #lost: StintError | undefined
  /** Exists once the signal was asked for. */
  #controller: AbortController | undefined
  #unwatch: (() => void) | undefined
  /** The last operation in the queue of `#inTurn`. */
  #queue: Promise<unknown> = Promise.resolve()

  /** @internal */
  constructor(claims: WorkspaceClaims, request: AcquireRequest, granted: Decided<Granted>) {
    this.sessionId = request.sessionId
    this.workspace = claims.title
    this.workspaceKey = claims.key
    this.#claims = claims
    this.#holders = request.holder === null ? [] : [request.holder]
    this.#ttlMs = request.forMs
    this.#latest = granted
    // Unreferenced: the timer does not keep a process alive that has nothing else to do.
    this.#timer = setInterval(() => void this.#keepFresh(), this.#refreshIntervalMs).unref()
  }

  /** Higher than that of any earlier grant: the place you write to can refuse a lower one. */
  get fence(): number {
    return this.#claim.fence
  }

  get epoch(): number {
    return this.#latest.epoch
  }

  get #claim(): Claim {
    return this.#latest.answer.claim
  }

  /** When the claim expires without another refresh, in milliseconds since the epoch. */
  get expiresAt(): number {
    return this.#claim.until_wall
  }

  /** Aborts when the lease is lost: stop writing then. The first access starts to watch the register. */
  get signal(): AbortSignal {
    if (!this.#isOver)
      this.#unwatch ??= this.#claims.watch(() => {
        // The next refresh reports a lasting failure.
        this.check().catch(() => {})
      })
    this.#controller ??= new AbortController()
    if (this.#lost !== undefined) this.#controller.abort(this.#lost)
    return this.#controller.signal
  }

  /** Restarts the time to live; false if the claim was lost, which a refresh never takes back. */
  refresh(): Promise<boolean> {
    return this.#inTurn(async () => this.#update(await this.#claims.renew(this.#renewRequest())))
  }

  /** Whether this process still holds the claim. Changes nothing. */
  check(): Promise<boolean> {
    return this.#inTurn(async () => this.#isIn(await this.#claims.read()))
  }

  #isIn(view: ClaimsView): boolean {
    const claim = checkClaim(view.record, this.sessionId, this.fence, view.observation)
    return claim !== undefined || this.#lose(lossIn(view, this.#claim, this.epoch))
  }

  /** Adds a process as a holder: the claim stands while either lives. `release` gives it up for both. */
  join(holder: Identity): Promise<boolean> {
    return this.#inTurn(async () => {
      const decided = await this.#claims.renew(this.#renewRequest(holder))
      // `release` has removed the holders that it knew of, this one not among them.
      if (this.#isOver && decided.answer.claim !== undefined)
        await this.#claims.release({ ...this.#releaseRequest(), holders: [holder] })
      const joined = this.#update(decided)
      if (joined) this.#holders.push(holder)
      return joined
    })
  }

  /**
   * Gives the claim up; false if there was nothing left to give up. After a failure it can be called again;
   * meanwhile the claim is not refreshed.
   */
  async release(): Promise<boolean> {
    if (!this.#end()) return false
    try {
      return (await this.#claims.release(this.#releaseRequest(), this.#latest)).released
    } catch (error) {
      this.#isOver = false
      throw error
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.release()
  }

  #renewRequest(joining?: Identity): RenewRequest {
    return { sessionId: this.sessionId, firstFence: this.#claim.first_fence, forMs: this.#ttlMs, joining }
  }

  #releaseRequest(): ReleaseRequest {
    const holders = this.#holders.length === 0 ? undefined : this.#holders
    return { sessionId: this.sessionId, firstFence: this.#claim.first_fence, holders }
  }

  /** One operation at a time: a refresh must not revive a lease that a check has just found lost. */
  #inTurn(operation: () => Promise<boolean>): Promise<boolean> {
    const result = this.#queue.then(() => !this.#isOver && operation())
    this.#queue = result.catch(() => {})
    return result
  }

  #update(decided: Decided<{ claim?: Claim }>): boolean {
    const { claim } = decided.answer
    if (claim === undefined) return this.#lose(lossIn(decided, this.#claim, this.epoch))
    // Released while this refresh was under way. If the session has a claim, it belongs to another lease.
    if (this.#isOver) return false
    this.#latest = { ...decided, answer: { claim } }
    clearTimeout(this.#deadline)
    this.#deadline = undefined
    return true
  }

  #lose(cause: LeaseLoss): false {
    if (this.#end()) {
      const message = `the lease on ${visibleText(this.workspace)} was lost: ${lossText(cause)}`
      this.#lost = new StintError('LOCK_LOST', message, { facts: { fence: this.fence }, cause })
      this.#controller?.abort(this.#lost)
    }
    return false
  }

  /** Stops refreshing and watching; false if that has happened before. */
  #end(): boolean {
    const isFirst = !this.#isOver
    this.#isOver = true
    clearInterval(this.#timer)
    clearTimeout(this.#deadline)
    this.#unwatch?.()
    return isFirst
  }

  /** Until the claim can be lost without another refresh. */
  get #leftMs(): number {
    return this.#latest.startedAtMs + this.#ttlMs - systemClock.mono()
  }

  /** A third of the time to live. */
  get #refreshIntervalMs(): number {
    return timerMs(Math.max(10, this.#ttlMs / 3))
  }

  /** A failed refresh (full disk, unreachable server) loses the lease only when its time is over. */
  async #keepFresh(): Promise<void> {
    // After a suspend the time may be over although no other session took the claim: still try one refresh.
    const patienceMs = Math.max(this.#leftMs, this.#refreshIntervalMs)
    const expire = (error?: unknown): false => this.#lose({ kind: 'expired', error })
    this.#deadline ??= setTimeout(expire, timerMs(patienceMs)).unref()
    try {
      await this.refresh()
    } catch (error) {
      if (this.#leftMs < 0) expire(error)
    }
  }
}

/** Validates the options; returns the claims they are about, the request and how long to wait. */
function prepareLease(options: LeaseOptions) {
  const { sessionId, ttlMs = defaultTtlMs, pid = process.pid } = options
  assertOptions({ ...options, ttlMs })
  const waitMs = durationMs(options.wait ?? 0, 'wait')
  const store = options.store ?? homeStore()
  const claims = WorkspaceClaims.open(store, options)
  const paths = claims.pathsOf(options.paths ?? [])
  return {
    claims,
    waitMs,
    request: {
      sessionId,
      holder: pid === null ? null : holderOf(pid),
      paths,
      mode: options.mode ?? 'exclusive',
      forMs: ttlMs,
      purpose: options.purpose,
      descent: () => readDescent(pid ?? process.pid),
      origin: () => readOrigin(pid ?? process.pid),
    },
  }
}

/** Limits that keep a record small enough to be read again. */
const maxPaths = 1000
const maxPurposeLength = 10_000

/** Plain JavaScript callers are not type-checked. */
function assertOptions(options: LeaseOptions & { ttlMs: number }): void {
  const { sessionId, ttlMs, mode = 'exclusive', pid = null, paths = [], purpose = '' } = options
  const refuse = (problem: string): never => {
    throw new StintError('ARG_ERROR', problem)
  }
  if (!isSessionId(sessionId))
    throw new StintError('SESSION_ID_INVALID', `${JSON.stringify(sessionId)} cannot be a session id`)
  if (!(ttlMs > 0 && ttlMs <= maxTtlMs)) refuse(`ttlMs must be more than 0 and at most 30 days, not ${ttlMs}`)
  if (mode !== 'exclusive' && mode !== 'shared')
    refuse(`mode must be exclusive or shared, not ${String(mode)}`)
  if (pid !== null && !(Number.isSafeInteger(pid) && pid > 0))
    refuse(`pid must be that of a process, not ${pid}`)
  if (!Array.isArray(paths) || !paths.every(isString)) refuse('paths must be a list of paths')
  if (paths.length > maxPaths) refuse(`at most ${maxPaths} paths can be claimed; claim their directory`)
  if (!isString(purpose) || purpose.length > maxPurposeLength)
    refuse(`purpose must be a string of at most ${maxPurposeLength} characters`)
}

function holderOf(pid: number): Identity {
  const holder = pid === process.pid ? ownIdentity() : identify(pid)
  if (holder === undefined) throw new StintError('NOT_FOUND', `there is no process ${pid} to hold the lease`)
  return holder
}
