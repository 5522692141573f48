import type { Claim } from '../../src/lease/claim-record.ts'
import { fileRegister } from '../../src/lease/file-register.ts'
import type { FileStep } from '../../src/lease/file-register.ts'
import type { Now, Steps } from '../../src/lease/register.ts'
import {
  decideAcquire,
  type AcquireAnswer,
  type AcquireRequest,
  type decideRefresh,
  decideRelease,
  type ReleaseAnswer,
} from '../../src/lease/rules.ts'
import { StoredClaims } from '../../src/lease/stored-claims.ts'
import { systemClock } from '../../src/base/process/clock.ts'
import { thisMachine } from '../../src/base/process/platform.ts'
import { Aliases } from './explorer-aliases.ts'
import { type Answer, resume } from './explorer-directory.ts'
import { Memory } from './explorer-memory.ts'

export const ttlMs = 300_000
export const workspace = '/workspace'

export type Operation = 'acquire' | 'refresh' | 'release'

/** What happened to a session's process: it began an operation, or got the answer to its step. */
export interface Moment {
  what: { begin: Operation } | { answer: Answer }
  /** What it could ask for just then without a step. */
  mono: number
  dead: readonly string[]
}

export interface Lived {
  moments: readonly Moment[]
  /** What it does next; undefined between operations. */
  step: FileStep | undefined
  /** What an operation has just come to. */
  outcome: Outcome | undefined
  /** Did it ask, at its last moment, what time it is or who is alive? */
  asked: boolean
  /** All that can make a difference to what it does from now on. */
  memory: string
}

export interface Outcome {
  operation: Operation
  now: Now
  granted?: Extract<AcquireAnswer, { granted: true }>
  refusedBy?: Claim
  refreshed?: Claim
}

export interface Habits {
  keptEpochs: number
  refresh: typeof decideRefresh
}

/**
 * Runs a session's process through its moments, each time from its birth: a generator cannot be copied, and its book and register remember
 * what they have seen.
 */
export function relive(session: string, moments: readonly Moment[], habits: Habits): Lived {
  const process = new Process(session, habits)
  const { mono } = systemClock
  try {
    for (const moment of moments) process.live(moment)
  } finally {
    systemClock.mono = mono
  }
  const { step, outcome, asked, firstFence, memory } = process
  return { moments, step, outcome, asked, memory: `${firstFence} ${memory.all}` }
}

class Process {
  step: FileStep | undefined
  outcome: Outcome | undefined
  asked = false
  /** Which lease it has, if it has one. */
  firstFence: number | undefined
  readonly memory = new Memory()
  readonly #habits: Habits
  readonly #request: AcquireRequest
  readonly #aliases: Aliases
  readonly #claims: StoredClaims
  #dead: readonly string[] = []
  #steps: Steps<unknown, Outcome> | undefined

  constructor(session: string, habits: Habits) {
    const holder = { ...thisMachine(), pid: pidOf(session), started: 1 }
    this.#habits = habits
    this.#request = { sessionId: session, holder, paths: ['**'], mode: 'exclusive', ttlMs }
    this.#aliases = new Aliases(session, workspace)
    const register = this.#aliases.over(this.memory.over(fileRegister('/locks', habits.keptEpochs)))
    this.#claims = new StoredClaims(register, { key: 'key', name: workspace }, ({ pid }) => {
      this.asked = true
      return this.#dead.some((each) => pidOf(each) === pid) ? 'dead' : 'alive'
    })
  }

  live({ what, mono, dead }: Moment): void {
    this.asked = false
    this.#dead = dead
    systemClock.mono = () => {
      this.asked = true
      return mono
    }
    const at = 'begin' in what ? this.#begin(what.begin) : this.#hear(what.answer)
    this.step = at.done ? undefined : this.#aliases.said(at.value as FileStep)
    this.outcome = at.done ? at.value : undefined
    if (this.outcome === undefined) return
    this.memory.begins('')
    this.firstFence = (this.outcome.granted?.claim ?? this.outcome.refreshed)?.first_fence
  }

  #begin(operation: Operation): IteratorResult<unknown, Outcome> {
    this.memory.begins(operation)
    this.#steps = this.#operation(operation)
    return this.#steps.next()
  }

  #hear(answer: Answer): IteratorResult<unknown, Outcome> {
    if (this.#steps === undefined || this.step === undefined) throw new Error('an answer to nothing')
    this.memory.hears(this.step, answer)
    return resume(this.#steps, this.#aliases.heard(answer))
  }

  /** As `Lease` does it. */
  *#operation(operation: Operation): Steps<unknown, Outcome> {
    const { sessionId, holder } = this.#request
    const request = { sessionId, firstFence: this.firstFence }
    switch (operation) {
      case 'acquire': {
        const { answer, observation } = yield* this.#claims.change((claims, observation, fence) =>
          decideAcquire(claims, this.#request, observation, fence),
        )
        const { now } = observation
        return answer.granted ? { operation, now, granted: answer } : { operation, now, refusedBy: answer.by }
      }
      case 'refresh': {
        const { answer, observation } = yield* this.#claims.change((claims, observation) =>
          this.#habits.refresh(claims, request, observation),
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

const pidOf = (session: string): number => 1000 + (session.codePointAt(session.length - 1) ?? 0)
