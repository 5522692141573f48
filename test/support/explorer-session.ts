import type { Identity } from '../../src/base/process/liveness.ts'
import { type Claim, formatClaimsRecord, noClaims } from '../../src/lease/claim-record.ts'
import { fileRegister } from '../../src/lease/file-register.ts'
import type { Observation } from '../../src/lease/claim-status.ts'
import type { FileStep } from '../../src/lease/file-register.ts'
import type { Descent } from '../../src/lease/party.ts'
import type { Now, Steps } from '../../src/lease/register.ts'
import {
  type AcquireAnswer,
  type AcquireRequest,
  decideAcquire,
  type decideRefresh,
  decideRelease,
  type ReleaseAnswer,
} from '../../src/lease/rules.ts'
import { StoredClaims } from '../../src/lease/stored-claims.ts'
import { systemClock } from '../../src/base/process/clock.ts'
import { thisMachine } from '../../src/base/process/platform.ts'
import { Aliases } from './explorer-aliases.ts'
import { type Answer, type Directory, resume } from './explorer-directory.ts'
import { Memory } from './explorer-memory.ts'

export const ttlMs = 300_000
export const workspace = '/workspace'

export type Operation = 'acquire' | 'refresh' | 'release'

/**
 * One event in the history of a session's process: it begins an operation, or gets the answer to its step.
 */
export interface HistoryEvent {
  what: { begin: Operation } | { answer: Answer }
  /** The monotonic clock, and the dead sessions, which the process can read without a step. */
  mono: number
  dead: readonly string[]
}

/** A session's process after its history. */
export interface ReplayedSession {
  history: readonly HistoryEvent[]
  /** Its next step; undefined between operations. */
  step: FileStep | undefined
  /** The result of the operation that has just ended. */
  outcome: Outcome | undefined
  /** Whether it looked at the clock or at a process's liveness in the last event. */
  hasObserved: boolean
  /** All that its further steps depend on. */
  memory: string
}

export interface Outcome {
  operation: Operation
  now: Now
  granted?: Extract<AcquireAnswer, { granted: true }>
  refusedBy?: Claim
  refreshed?: Claim
}

/** How the processes of an exploration behave. */
export interface SessionBehavior {
  keptEpochs: number
  /** Whether the parent has started the processes of all sessions. */
  isFamily: boolean
  acquire: typeof decideAcquire
  refresh: typeof decideRefresh
}

/**
 * Runs a session's process through its whole history: a generator cannot be copied, and the claims and the
 * register have caches.
 */
export function replay(
  session: string,
  history: readonly HistoryEvent[],
  behavior: SessionBehavior,
): ReplayedSession {
  const process = new Process(session, behavior)
  const { mono } = systemClock
  try {
    for (const event of history) process.receive(event)
  } finally {
    systemClock.mono = mono
  }
  const { step, outcome, hasObserved, firstFence, memory } = process
  return { history, step, outcome, hasObserved, memory: `${firstFence} ${memory.all}` }
}

class Process {
  step: FileStep | undefined
  outcome: Outcome | undefined
  hasObserved = false
  /** The first fence of its lease, if it has one. */
  firstFence: number | undefined
  readonly memory = new Memory()
  readonly #behavior: SessionBehavior
  readonly #request: AcquireRequest
  readonly #aliases: Aliases
  readonly #claims: StoredClaims
  #dead: readonly string[] = []
  #steps: Steps<unknown, Outcome> | undefined

  constructor(session: string, behavior: SessionBehavior) {
    const holder = processOf(session)
    this.#behavior = behavior
    const descent = (): Descent => ({
      machine: thisMachine(),
      processes: behavior.isFamily ? [processOf(parent)] : [],
      isComplete: true,
      sessions: [],
    })
    this.#request = { sessionId: session, holder, paths: ['**'], mode: 'exclusive', ttlMs, descent }
    this.#aliases = new Aliases(session, workspace)
    const register = this.#aliases.wrap(this.memory.wrap(fileRegister('/locks', behavior.keptEpochs)))
    this.#claims = new StoredClaims(register, { key: 'key', name: workspace }, ({ pid }) => {
      this.hasObserved = true
      return this.#dead.some((each) => pidOf(each) === pid) ? 'dead' : 'alive'
    })
  }

  receive({ what, mono, dead }: HistoryEvent): void {
    this.hasObserved = false
    this.#dead = dead
    systemClock.mono = () => {
      this.hasObserved = true
      return mono
    }
    const at = 'begin' in what ? this.#begin(what.begin) : this.#answer(what.answer)
    this.step = at.done ? undefined : this.#aliases.outgoing(at.value as FileStep)
    this.outcome = at.done ? at.value : undefined
    if (this.outcome === undefined) return
    this.memory.beginOperation('')
    this.firstFence = (this.outcome.granted?.claim ?? this.outcome.refreshed)?.first_fence
  }

  #begin(operation: Operation): IteratorResult<unknown, Outcome> {
    this.memory.beginOperation(operation)
    this.#steps = this.#operation(operation)
    return this.#steps.next()
  }

  #answer(answer: Answer): IteratorResult<unknown, Outcome> {
    if (this.#steps === undefined || this.step === undefined) throw new Error('an answer without a step')
    this.memory.addAnswer(this.step, answer)
    return resume(this.#steps, this.#aliases.incoming(answer))
  }

  /** Runs an operation as `Lease` does. */
  *#operation(operation: Operation): Steps<unknown, Outcome> {
    const { sessionId, holder } = this.#request
    const request = { sessionId, firstFence: this.firstFence }
    switch (operation) {
      case 'acquire': {
        const { answer, observation } = yield* this.#claims.change((claims, observation, fence) =>
          this.#behavior.acquire(claims, this.#request, observation, fence),
        )
        const { now } = observation
        return answer.granted ? { operation, now, granted: answer } : { operation, now, refusedBy: answer.by }
      }
      case 'refresh': {
        const { answer, observation } = yield* this.#claims.change((claims, observation) =>
          this.#behavior.refresh(claims, request, observation),
        )
        return { operation, now: observation.now, refreshed: answer.claim }
      }
      case 'release': {
        const holders = holder === null ? [] : [holder]
        const { observation } = yield* this.#claims.change<ReleaseAnswer>(
          (claims, _observation, _fence, tried) => decideRelease(claims, { ...request, holders }, tried),
        )
        return { operation, now: observation.now }
      }
    }
  }
}

/** The session that has started the others of a family, and holds the lease all the time. */
export const parent = 'ses_p'

const processOf = (session: string): Identity => ({ ...thisMachine(), pid: pidOf(session), started: 1 })

/** The register after the parent has acquired the lease. */
export function heldByParent(): Directory {
  const request = {
    sessionId: parent,
    holder: processOf(parent),
    paths: ['**'],
    mode: 'exclusive',
    ttlMs,
  } as const
  const observation: Observation = { now: { wall: 0, mono: 0, clock: 'boot' }, liveness: () => 'alive' }
  const { next = noClaims(workspace) } = decideAcquire(noClaims(workspace), request, observation, 1)
  const text = formatClaimsRecord(next, { writer: parent, count: 1 })
  return { isThere: true, files: [['1', text]], top: 1, swept: 0 }
}

const pidOf = (session: string): number => 1000 + (session.codePointAt(session.length - 1) ?? 0)
