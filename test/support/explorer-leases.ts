import type { Claim } from '../../src/lease/claim-record.ts'
import { decideAcquire, decideRefresh } from '../../src/lease/rules.ts'
import { brokenAcquires, type PartyMutation } from './broken-parties.ts'
import { type Clock, describeClock, nowOn, timesFrom } from './explorer-clock.ts'
import { carryOut, type Directory, type Effect, emptyDirectory } from './explorer-directory.ts'
import { type Explored, type Found, type Model, Numbered, type Row, search } from './explorer-search.ts'
import {
  heldByParent,
  type HistoryEvent,
  type Operation,
  type Outcome,
  replay,
  type ReplayedSession,
  ttlMs,
} from './explorer-session.ts'
import { claimsIn, findViolation, holds, newFences, type SessionFacts } from './explorer-verdict.ts'

/**
 * Explores leases: sessions acquire, refresh and release one workspace through the shipped rules, claims and
 * file driver, in every order of their steps and with any pause between them. Meanwhile the monotonic clock
 * advances beyond the time to live of a claim, and the wall clock jumps by hours.
 */
export interface LeaseExploration {
  /** How many operations each session makes: acquires until it has the lease, then refreshes or releases. */
  operations: readonly number[]
  /** How often the monotonic clock advances. */
  ticks: number
  /** By how many milliseconds it advances; by default a claim expires after two ticks. */
  tickMs?: number
  /** How often the wall clock jumps, by five hours back or ahead. */
  jumps: number
  /** How many processes may die, each at any point. */
  crashes?: number
  /** Whether the sessions were started by one that holds the lease: each may hold it beside that one. */
  isFamily?: boolean
  mutation?: LeaseMutation
  /** Keeps all histories of a session apart, which are merged by `Memory` otherwise. */
  unreduced?: boolean
}

/** Ways to break leases, each of which the explorer must find. */
export type LeaseMutation = 'age on the wall clock' | 'a refresh that takes back' | PartyMutation

export const exploreLeases = (options: LeaseExploration): Explored => search(leasesModel(options))

interface Session extends ReplayedSession, SessionFacts {
  /** How many operations it has begun. */
  begun: number
  /** Until when it may assume that it holds the lease, on the monotonic clock; -1 if it does not. */
  holdsUntil: number
  isDead: boolean
}

/**
 * The columns of a state: directory, clocks, highest fence ever granted, dead sessions (one bit each),
 * sessions.
 */
const firstSession = 4

/** One way for a session to continue; between operations there may be two. */
interface Choice {
  begin: Operation | undefined
  clock: number
}

/** A session after one more event. */
interface NextSession {
  session: number
  outcome: Outcome | undefined
  hasObserved: boolean
}

/** The result of a choice. */
interface Edge {
  session: number
  directory: number
  /** The fences that it grants. */
  fences: number[]
  violation: string | undefined
  /** Whether it depends on the time. */
  hasObserved: boolean
}

/** Numbers of moves: the choices of each column, and its death. */
const columns = 8
const dies = 1000 * columns

function leasesModel(options: LeaseExploration): Model {
  const { operations, crashes = 0, tickMs = ttlMs * 0.6, mutation, unreduced = false } = options
  const isFamily = options.isFamily ?? false
  const behavior = {
    keptEpochs: 1,
    isFamily,
    acquire: isPartyMutation(mutation) ? brokenAcquires[mutation] : decideAcquire,
    refresh: mutation === 'a refresh that takes back' ? takeBack : decideRefresh,
  }
  const directories = new Numbered<Directory>()
  const clocks = new Numbered<Clock>()
  const sessions = new Numbered<Session>()
  const directoryNumber = (directory: Directory): number =>
    directories.numberOf(JSON.stringify(directory), directory)
  const clockNumber = (clock: Clock): number => clocks.numberOf(JSON.stringify(clock), clock)
  const sessionNumber = (session: Session): number => sessions.numberOf(keyOf(session, !unreduced), session)
  const start = [
    directoryNumber(isFamily ? heldByParent() : emptyDirectory),
    clockNumber({ mono: 0, offset: 0, ticksLeft: options.ticks, jumpsLeft: options.jumps }),
    0,
    0,
    ...operations.map((_, index) => sessionNumber(newSession(`ses_${'abc'[index]}`))),
  ]
  const next = new Uint32Array(start.length)

  const truths: Claim[][] = []
  const truthOf = (directory: number): Claim[] =>
    (truths[directory] ??= claimsIn(directories.valueOf(directory)))

  const times: number[][] = []
  const timesAfter = (clock: number): number[] =>
    (times[clock] ??= timesFrom(clocks.valueOf(clock), tickMs).map(clockNumber))

  function perform({ id, step }: Session, clock: number, directory: Directory): Effect {
    if (step === undefined) throw new Error('the session has no step')
    if (step.call !== 'now') return carryOut(step, directory)
    const name = mutation === 'age on the wall clock' ? id : 'boot'
    return { answer: { value: nowOn(clocks.valueOf(clock), name) }, after: directory, onTop: false }
  }

  const nextSessions = new Map<string, NextSession>()
  function nextSession(before: number, facts: Partial<Session>, event: HistoryEvent): NextSession {
    const key = `${before} ${JSON.stringify([facts, event])}`
    let next = nextSessions.get(key)
    if (next === undefined) {
      const { history, ...session } = { ...sessions.valueOf(before), ...facts }
      const replayed = settled({ ...session, ...replay(session.id, [...history, event], behavior) })
      const { outcome, hasObserved } = replayed
      next = { session: sessionNumber({ ...replayed, outcome: undefined }), outcome, hasObserved }
      nextSessions.set(key, next)
    }
    return next
  }

  function begin(
    before: number,
    directory: number,
    operation: Operation,
    now: Omit<HistoryEvent, 'what'>,
  ): Edge {
    const session = sessions.valueOf(before)
    const believes = session.holdsUntil >= 0
    const facts = {
      begun: session.begun + 1,
      hadLostLease: believes && !holds(session.id, truthOf(directory)),
      holdsUntil: operation === 'release' ? -1 : session.holdsUntil,
    }
    const { session: after } = nextSession(before, facts, { ...now, what: { begin: operation } })
    return { session: after, directory, fences: [], violation: undefined, hasObserved: true }
  }

  function goOn(before: number, directory: number, clock: number, now: Omit<HistoryEvent, 'what'>): Edge {
    const session = sessions.valueOf(before)
    const { answer, after, onTop } = perform(session, clock, directories.valueOf(directory))
    const then = directoryNumber(after)
    const facts = {
      onTop: session.step?.call === 'symlink' || session.step?.call === 'makeKey' ? onTop : session.onTop,
    }
    const { session: number, outcome, hasObserved } = nextSession(before, facts, { ...now, what: { answer } })
    return {
      session: number,
      directory: then,
      fences: onTop ? newFences(truthOf(directory), truthOf(then)) : [],
      violation: outcome && findViolation({ ...session, ...facts }, outcome, truthOf(then), now.dead),
      hasObserved,
    }
  }

  // A choice depends on the session, the directory, the clocks and the dead sessions: each case is computed
  // once.
  const edges: Map<string, Edge>[] = []
  function edgeOf(state: Row, column: number, choice: Choice): Edge {
    const [directory = 0, , , deadBits = 0] = state
    const before = state[column] ?? 0
    const key = `${directory} ${choice.clock} ${deadBits} ${choice.begin}`
    const known = (edges[before] ??= new Map<string, Edge>())
    let edge = known.get(key)
    if (edge === undefined) {
      const now = { mono: clocks.valueOf(choice.clock).mono, dead: deadIn(deadBits) }
      edge =
        choice.begin === undefined
          ? goOn(before, directory, choice.clock, now)
          : begin(before, directory, choice.begin, now)
      known.set(key, edge)
    }
    return edge
  }

  function choices(state: Row, column: number): Choice[] {
    const clock = state[1] ?? 0
    const session = sessions.valueOf(state[column] ?? 0)
    return beginnings(session, operations[column - firstSession]).flatMap((begin) => {
      const looks = session.step?.call === 'now' || edgeOf(state, column, { begin, clock }).hasObserved
      return (looks ? timesAfter(clock) : [clock]).map((clock) => ({ begin, clock }))
    })
  }

  function moves(state: Row, found: Found): void {
    const [, , fence = 0, deadBits = 0] = state
    for (let column = firstSession; column < state.length; column++) {
      const { id, isDead } = sessions.valueOf(state[column] ?? 0)
      if (isDead) continue
      for (const [index, choice] of choices(state, column).entries()) {
        const { session, directory, fences, violation } = edgeOf(state, column, choice)
        next.set(state)
        next[0] = directory
        next[1] = choice.clock
        next[2] = Math.max(fence, ...fences)
        next[column] = session
        found(next, index * columns + column, violation ?? wrongFence(fence, fences) ?? twoHolders(next))
      }
      if (deadIn(deadBits).length === crashes) continue
      next.set(state)
      next[3] = deadBits | (1 << (column - firstSession))
      next[column] = sessionNumber({ ...newSession(id), isDead: true })
      found(next, dies + column)
    }
  }

  const deadIn = (bits: number): string[] =>
    bits === 0 ? [] : ids.filter((_, index) => (bits & (1 << index)) !== 0)
  const ids = start.slice(firstSession).map((session) => sessions.valueOf(session).id)

  function twoHolders(state: Row): string | undefined {
    const { mono } = clocks.valueOf(state[1] ?? 0)
    const holders = ids.filter(
      (_, index) => sessions.valueOf(state[firstSession + index] ?? 0).holdsUntil >= mono,
    )
    return holders.length > 1 ? `${holders.join(' and ')} both hold the lease` : undefined
  }

  function describe(state: Row, move: number): string {
    const column = move % columns
    const session = sessions.valueOf(state[column] ?? 0)
    if (move >= dies) return `${session.id} dies`
    const { begin, clock = 0 } = choices(state, column)[Math.floor(move / columns)] ?? {}
    const who = `${describeClock(clocks.valueOf(clock))}: ${session.id}`
    if (begin !== undefined) return `${who} begins to ${begin}`
    const { answer } = perform(session, clock, directories.valueOf(state[0] ?? 0))
    return `${who} ${JSON.stringify(session.step)} → ${JSON.stringify(answer)}`
  }

  const classes = new Numbered<string>()
  function classOf(state: Row): Row {
    next.set(state)
    for (let column = firstSession; column < state.length; column++) {
      const key = keyOf(sessions.valueOf(state[column] ?? 0), true)
      next[column] = classes.numberOf(key, key)
    }
    return next
  }

  return { start, moves, describe, classOf: unreduced ? classOf : undefined }
}

const isPartyMutation = (mutation: LeaseMutation | undefined): mutation is PartyMutation =>
  mutation !== undefined && mutation in brokenAcquires

/** A broken refresh: it takes any claim for the session's own. */
const takeBack: typeof decideRefresh = (claims, request, observation) => {
  const own = { session_id: request.sessionId, first_fence: request.firstFence ?? 0 }
  return decideRefresh(
    { ...claims, claims: claims.claims.map((claim) => ({ ...claim, ...own })) },
    request,
    observation,
  )
}

const newSession = (id: string): Session => ({
  id,
  history: [],
  begun: 0,
  holdsUntil: -1,
  hadLostLease: false,
  onTop: false,
  isDead: false,
  step: undefined,
  outcome: undefined,
  hasObserved: false,
  memory: '',
})

function keyOf(session: Session, reduced: boolean): string {
  const { id, history, begun, holdsUntil, hadLostLease, onTop, isDead, step, memory } = session
  return JSON.stringify([
    id,
    begun,
    holdsUntil,
    hadLostLease,
    onTop,
    isDead,
    step,
    reduced ? memory : history,
  ])
}

/** At the end of an operation, the session believes the answer. */
function settled(session: Session): Session {
  if (session.outcome === undefined) return session
  const { granted, refreshed, now } = session.outcome
  const holdsUntil = granted === undefined && refreshed === undefined ? -1 : now.mono + ttlMs
  return { ...session, holdsUntil, hadLostLease: false, onTop: false }
}

/** The operations that a session can begin; undefined while one is under way. */
function beginnings({ step, begun, holdsUntil }: Session, operations = 0): (Operation | undefined)[] {
  if (step !== undefined) return [undefined]
  if (begun === operations) return []
  return holdsUntil < 0 ? ['acquire'] : ['refresh', 'release']
}

const wrongFence = (highest: number, fences: readonly number[]): string | undefined =>
  fences.some((fence) => fence <= highest) ? `fence ${fences.join()} was granted after ${highest}` : undefined
