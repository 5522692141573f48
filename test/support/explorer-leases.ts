import type { Claim } from '../../src/lease/claim-record.ts'
import { decideRefresh } from '../../src/lease/rules.ts'
import { type Clock, describeClock, nowOn, timesFrom } from './explorer-clock.ts'
import { carryOut, type Directory, type Effect, emptyDirectory } from './explorer-directory.ts'
import { type Explored, type Found, type Model, Numbered, type Row, search } from './explorer-search.ts'
import { type Lived, type Moment, type Operation, type Outcome, relive, ttlMs } from './explorer-session.ts'
import { claimsIn, type Fate, holds, newFences, wrong } from './explorer-verdict.ts'

/**
 * Explores leases: sessions acquire, refresh and release one workspace through the shipped rules, book and file driver, in every order of
 * their steps and with any pause between them. Meanwhile the monotonic clock moves on, past a claim's time, and the wall clock jumps by hours.
 */
export interface LeaseExploration {
  /** How many operations each session makes: it acquires until it has the lease, then refreshes or releases. */
  operations: readonly number[]
  /** How often the monotonic clock moves on. */
  ticks: number
  /** By how much; by default it takes two ticks to outlast a claim. */
  tickMs?: number
  /** How often the wall clock jumps, five hours back or ahead. */
  jumps: number
  /** How many processes may die, each at any point. */
  crashes?: number
  mutation?: LeaseMutation
  /** Tells all pasts of a session apart: `Memory` says which are taken for one otherwise. */
  unreduced?: boolean
}

/** Ways to break it, to see the explorer notice. */
export type LeaseMutation = 'age on the wall clock' | 'a refresh that takes back'

export const exploreLeases = (options: LeaseExploration): Explored => search(leasesModel(options))

interface Session extends Lived, Fate {
  /** Operations begun. */
  begun: number
  /** Until when it may believe to hold the lease, on the monotonic clock; -1 if it does not. */
  holdsUntil: number
  isDead: boolean
}

/** The columns of a state: the directory, the clocks, the highest fence ever granted, who is dead (one bit each), and each session. */
const firstSession = 4

/** One way for a session to go on; between operations, there may be two. */
interface Choice {
  begin: Operation | undefined
  clock: number
}

/** What becomes of a session by one more moment. */
interface Life {
  session: number
  outcome: Outcome | undefined
  asked: boolean
}

/** Where a choice leads. */
interface Edge {
  session: number
  directory: number
  /** The fences that it grants. */
  fences: number[]
  violation: string | undefined
  /** Does it depend on the time? */
  asked: boolean
}

/** Moves are numbered: the choices of each column, and its death. */
const columns = 8
const dies = 1000 * columns

function leasesModel(options: LeaseExploration): Model {
  const { operations, crashes = 0, tickMs = ttlMs * 0.6, mutation, unreduced = false } = options
  const habits = {
    keptEpochs: 1,
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
    directoryNumber(emptyDirectory),
    clockNumber({ mono: 0, offset: 0, ticksLeft: options.ticks, jumpsLeft: options.jumps }),
    0,
    0,
    ...operations.map((_, index) => sessionNumber(newborn(`ses_${'abc'[index]}`))),
  ]
  const next = new Uint32Array(start.length)

  const truths: Claim[][] = []
  const truthOf = (directory: number): Claim[] =>
    (truths[directory] ??= claimsIn(directories.valueOf(directory)))

  const times: number[][] = []
  const timesAfter = (clock: number): number[] =>
    (times[clock] ??= timesFrom(clocks.valueOf(clock), tickMs).map(clockNumber))

  function perform({ id, step }: Session, clock: number, directory: Directory): Effect {
    if (step === undefined) throw new Error('there is nothing to do')
    if (step.call !== 'now') return carryOut(step, directory)
    const name = mutation === 'age on the wall clock' ? id : 'boot'
    return { answer: { value: nowOn(clocks.valueOf(clock), name) }, after: directory, onTop: false }
  }

  const lives = new Map<string, Life>()
  function liveOn(before: number, fate: Partial<Session>, moment: Moment): Life {
    const key = `${before} ${JSON.stringify([fate, moment])}`
    let life = lives.get(key)
    if (life === undefined) {
      const { moments, ...session } = { ...sessions.valueOf(before), ...fate }
      const lived = settled({ ...session, ...relive(session.id, [...moments, moment], habits) })
      const { outcome, asked } = lived
      life = { session: sessionNumber({ ...lived, outcome: undefined }), outcome, asked }
      lives.set(key, life)
    }
    return life
  }

  function begin(before: number, directory: number, operation: Operation, now: Omit<Moment, 'what'>): Edge {
    const session = sessions.valueOf(before)
    const believes = session.holdsUntil >= 0
    const fate = {
      begun: session.begun + 1,
      wasRobbed: believes && !holds(session.id, truthOf(directory)),
      holdsUntil: operation === 'release' ? -1 : session.holdsUntil,
    }
    const { session: after } = liveOn(before, fate, { ...now, what: { begin: operation } })
    return { session: after, directory, fences: [], violation: undefined, asked: true }
  }

  function goOn(before: number, directory: number, clock: number, now: Omit<Moment, 'what'>): Edge {
    const session = sessions.valueOf(before)
    const { answer, after, onTop } = perform(session, clock, directories.valueOf(directory))
    const then = directoryNumber(after)
    const fate = { onTop: session.step?.call === 'symlink' ? onTop : session.onTop }
    const { session: number, outcome, asked } = liveOn(before, fate, { ...now, what: { answer } })
    return {
      session: number,
      directory: then,
      fences: onTop ? newFences(truthOf(directory), truthOf(then)) : [],
      violation: outcome && wrong({ ...session, ...fate }, outcome, truthOf(then), now.dead),
      asked,
    }
  }

  // Where a choice leads depends on the session, the directory, the clocks and who is dead: it is found out once for all of these.
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
      const looks = session.step?.call === 'now' || edgeOf(state, column, { begin, clock }).asked
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
      next[column] = sessionNumber({ ...newborn(id), isDead: true })
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
    return holders.length > 1 ? `${holders.join(' and ')} hold the lease, both` : undefined
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

/** Takes whatever claim is there for its own. */
const takeBack: typeof decideRefresh = (claims, request, observation) => {
  const own = { session_id: request.sessionId, first_fence: request.firstFence ?? 0 }
  return decideRefresh(
    { ...claims, claims: claims.claims.map((claim) => ({ ...claim, ...own })) },
    request,
    observation,
  )
}

const newborn = (id: string): Session => ({
  id,
  moments: [],
  begun: 0,
  holdsUntil: -1,
  wasRobbed: false,
  onTop: false,
  isDead: false,
  step: undefined,
  outcome: undefined,
  asked: false,
  memory: '',
})

function keyOf(session: Session, reduced: boolean): string {
  const { id, moments, begun, holdsUntil, wasRobbed, onTop, isDead, step, memory } = session
  return JSON.stringify([id, begun, holdsUntil, wasRobbed, onTop, isDead, step, reduced ? memory : moments])
}

/** At the end of an operation, what it was told is what it believes. */
function settled(session: Session): Session {
  if (session.outcome === undefined) return session
  const { granted, refreshed, now } = session.outcome
  const holdsUntil = granted === undefined && refreshed === undefined ? -1 : now.mono + ttlMs
  return { ...session, holdsUntil, wasRobbed: false, onTop: false }
}

/** Undefined: it is in the middle of one. */
function beginnings({ step, begun, holdsUntil }: Session, operations = 0): (Operation | undefined)[] {
  if (step !== undefined) return [undefined]
  if (begun === operations) return []
  return holdsUntil < 0 ? ['acquire'] : ['refresh', 'release']
}

const wrongFence = (highest: number, fences: readonly number[]): string | undefined =>
  fences.some((fence) => fence <= highest) ? `fence ${fences.join()} was granted after ${highest}` : undefined
