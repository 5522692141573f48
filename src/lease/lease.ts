import { systemClock } from '../base/process/clock.ts'
import { timerMs } from '../base/text/duration.ts'
import type { Identity } from '../base/process/liveness.ts'
import { StintError } from '../base/errors/stint-error.ts'
import type { Claim, ClaimHolder } from './claim.ts'
import { type LeaseOptions, prepareLease } from './lease-request.ts'
import { type AcquireRequest, type RefreshRequest, type ReleaseRequest, withHolder } from './rules.ts'
import type { Changed } from './stored-claims.ts'
import type { Granted, WorkspaceClaims } from './workspace-claims.ts'

/**
 * Claims a workspace, or paths in it, and keeps the claim fresh until it is released.
 *
 * @example
 * await using lease = await acquireLease({ sessionId: 'ses_1', purpose: 'refactoring', wait: 10_000 })
 * lease.signal.addEventListener('abort', stopWriting)
 */
export async function acquireLease(options: LeaseOptions): Promise<Lease> {
  const { claims, request, waitMs } = prepareLease(options)
  return new Lease(claims, request, await claims.acquire(request, { waitMs, signal: options.signal }))
}

/** Claims synchronously, blocking the process while it waits. */
export function acquireLeaseSync(options: Omit<LeaseOptions, 'signal'>): Lease {
  const { claims, request, waitMs } = prepareLease(options)
  return new Lease(claims, request, claims.acquireSync(request, waitMs))
}

/** A claim that is held: see `acquireLease`. */
export class Lease {
  readonly sessionId: string
  /** What is claimed: the path of a workspace, or its repository where machines share it; or the name of a resource. */
  readonly workspace: string
  readonly workspaceKey: string
  readonly #claims: WorkspaceClaims
  readonly #holders: Identity[]
  /** Made when somebody asks for the signal. */
  #stop: AbortController | undefined
  readonly #timer: NodeJS.Timeout
  #claim: Claim
  #epoch: number
  #refreshedAt: number
  /** When it must be taken for lost, if no refresh succeeds before. */
  #deadline: NodeJS.Timeout | undefined
  #over = false
  #lost: StintError | undefined
  #unwatch: (() => void) | undefined
  #turn: Promise<unknown> = Promise.resolve()

  /** @internal */
  constructor(
    claims: WorkspaceClaims,
    request: AcquireRequest,
    { answer, epoch, startedAtMs }: Changed<Granted>,
  ) {
    this.sessionId = request.sessionId
    this.workspace = claims.name
    this.workspaceKey = claims.key
    this.#claims = claims
    this.#holders = request.holder === null ? [] : [request.holder]
    this.#claim = answer.claim
    this.#epoch = epoch
    this.#refreshedAt = startedAtMs
    this.#timer = this.#startTimer()
  }

  /** Higher than that of any earlier grant: what you write to can refuse a lower one. */
  get fence(): number {
    return this.#claim.fence
  }

  get epoch(): number {
    return this.#epoch
  }

  /** Until when it lasts without a refresh. */
  get expiresAt(): number {
    return this.#claim.refreshed_at + this.#claim.ttl_ms
  }

  /** Aborts when the lease is lost: stop writing then. Once asked for, it aborts as soon as the loss can be known. */
  get signal(): AbortSignal {
    if (!this.#over) this.#unwatch ??= this.#claims.watch(() => void this.#lookAgain())
    this.#stop ??= new AbortController()
    if (this.#lost !== undefined) this.#stop.abort(this.#lost)
    return this.#stop.signal
  }

  /** False if the claim was lost. Never takes it back. */
  refresh(): Promise<boolean> {
    return this.#inTurn(async () => this.#settle(await this.#claims.refresh(this.#refreshRequest())))
  }

  refreshSync(): boolean {
    return !this.#over && this.#settle(this.#claims.refreshSync(this.#refreshRequest()))
  }

  /** Is the claim still ours? Changes nothing. */
  check(): Promise<boolean> {
    return this.#inTurn(async () => this.#judge(await this.#claims.check(this.sessionId, this.fence)))
  }

  checkSync(): boolean {
    return !this.#over && this.#judge(this.#claims.checkSync(this.sessionId, this.fence))
  }

  /** Lets another process hold this claim, too: it then stands while either of them lives. `release` gives it up for both. */
  join(holder: Identity): Promise<boolean> {
    return this.#inTurn(async () => {
      const joined = this.#settle(await this.#claims.refresh(this.#refreshRequest(holder)))
      if (joined) this.#holders.push(holder)
      return joined
    })
  }

  /** Gives it up; false if there was nothing left to give up. If it fails, it can be tried again; it is not refreshed any more. */
  async release(): Promise<boolean> {
    if (!this.#end()) return false
    try {
      return (await this.#claims.release(this.#releaseRequest())).released
    } catch (error) {
      this.#remain()
      throw error
    }
  }

  releaseSync(): boolean {
    if (!this.#end()) return false
    try {
      return this.#claims.releaseSync(this.#releaseRequest()).released
    } catch (error) {
      this.#remain()
      throw error
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.release()
  }

  #refreshRequest(joining?: Identity): RefreshRequest {
    const holders = joining && ((before: readonly ClaimHolder[]) => withHolder(before, joining))
    return { sessionId: this.sessionId, firstFence: this.#claim.first_fence, holders }
  }

  #releaseRequest(): ReleaseRequest {
    const holders = this.#holders.length === 0 ? undefined : this.#holders
    return { sessionId: this.sessionId, firstFence: this.#claim.first_fence, holders }
  }

  /** One at a time: a refresh under way must not bring back what a check has just found lost. */
  #inTurn(operation: () => Promise<boolean>): Promise<boolean> {
    const turn = this.#turn.then(() => !this.#over && operation())
    this.#turn = turn.catch(() => {})
    return turn
  }

  #settle({ answer, epoch, startedAtMs }: Changed<{ claim?: Claim }>): boolean {
    if (this.#over && answer.claim !== undefined) return this.#undo()
    return answer.claim === undefined ? this.#lose() : this.#keep(answer.claim, epoch, startedAtMs)
  }

  /** It was given up while a refresh was under way. */
  #undo(): false {
    this.#claims.release(this.#releaseRequest()).catch(() => {})
    return false
  }

  #keep(claim: Claim, epoch: number, at: number): true {
    this.#claim = claim
    this.#epoch = epoch
    this.#refreshedAt = at
    clearTimeout(this.#deadline)
    this.#deadline = undefined
    return true
  }

  #judge(claim: Claim | undefined): boolean {
    return claim !== undefined || this.#lose()
  }

  #lose(): false {
    if (this.#end()) {
      const message = `the lease on ${this.workspace} was lost`
      this.#lost = new StintError('LOCK_LOST', message, { facts: { fence: this.fence } })
      this.#stop?.abort(this.#lost)
    }
    return false
  }

  #end(): boolean {
    const first = !this.#over
    this.#over = true
    clearInterval(this.#timer)
    clearTimeout(this.#deadline)
    this.#unwatch?.()
    return first
  }

  /** It could not be given up: whoever wants to can try again; else it ends by its time, as nobody refreshes it any more. */
  #remain(): void {
    this.#over = false
  }

  /** Three tries within its time; a process that has nothing else to do may end. */
  #startTimer(): NodeJS.Timeout {
    return setInterval(() => void this.#keepFresh(), this.#everyMs()).unref()
  }

  #everyMs(): number {
    return timerMs(Math.max(10, this.#claim.ttl_ms / 3))
  }

  async #lookAgain(): Promise<void> {
    try {
      await this.check()
    } catch {
      // The refresh will tell whether it matters.
    }
  }

  /** A full disk, say, or a server that is away or does not answer. The claim lasts a while; then it must be taken for lost. */
  async #keepFresh(): Promise<void> {
    const left = (): number => this.#refreshedAt + this.#claim.ttl_ms - systemClock.mono()
    // Who wakes up past its time may find that nobody has come.
    const patienceMs = Math.max(left(), this.#everyMs())
    this.#deadline ??= setTimeout(() => this.#lose(), timerMs(patienceMs)).unref()
    try {
      await this.refresh()
    } catch {
      if (left() < 0) this.#lose()
    }
  }
}
