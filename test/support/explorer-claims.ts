import { type Claim, noClaims, parseClaimsRecord } from '../../src/lease/claim.ts'
import { decideAcquire } from '../../src/lease/rules.ts'
import type { ClaimsMutation } from './explorer-claims-mutations.ts'
import { type Clock, describeClock, nowOn, timesFrom } from './explorer-clock.ts'
import {
  type Call,
  carryOut,
  currentOf,
  type Directory,
  type Effect,
  emptyDirectory,
} from './explorer-directory.ts'
import { type Explored, type Found, type Model, Numbered, type Row, search } from './explorer-search.ts'
import {
  type AllFacts,
  type Event,
  type Facts,
  type Operation,
  type OperationOf,
  type Outcome,
  parent,
  positionOf,
  processOf,
  ttlMs,
} from './explorer-session.ts'

/**
 * Explores claims: sessions acquire, renew, end turns and release on one workspace, through the shipped
 * claims, rules and register, in every order of their calls and with any pause between them. Meanwhile time
 * passes, the wall clock jumps, agents die, users interrupt turns, and commands of sessions begin and end.
 */
export interface ClaimsExploration {
  /** How many operations each session makes. */
  operations: readonly number[]
  /** How often the monotonic clock advances. */
  ticks?: number
  /** By how many milliseconds it advances; by default a claim expires after two ticks. */
  tickMs?: number
  /** How often the wall clock jumps, by five hours back or ahead. */
  jumps?: number
  /** How many agents may die, each at any point. */
  crashes?: number
  /** How many commands may be started; each ends at any later point. */
  commands?: number
  /** How many turns a user may interrupt. */
  interruptions?: number
  /** The last session breaks the claim that it finds, instead of making one. */
  breaks?: boolean
  /** A session that holds the workspace has started all others: each may hold it beside that one. */
  isFamily?: boolean
  mutation?: ClaimsMutation
}

export const exploreClaims = (options: ClaimsExploration): Promise<Explored> => search(claimsModel(options))

interface Session extends Facts {
  id: string
  /** How many operations it has begun. */
  begun: number
  operation: Operation | undefined
  /** The numbers of the events of its operation. */
  events: readonly number[]
  /** Its next call; undefined between operations. */
  next: Call | undefined
  /** The claim that it believes to have. */
  claim: { firstFence: number; until: number } | undefined
  transcript: number
  /** The claim was lost when the operation began. */
  hadLost: boolean
  /** The claim was broken during the operation. */
  wasBroken: boolean
}

/** Without its next call, which follows from its events. */
const keyOf = (session: Session): string => JSON.stringify({ ...session, next: undefined })

/** What follows from an event of a session in a directory. */
interface Step {
  session: number
  directory: number
  onTop: boolean
  /** The fences that it grants. */
  fences: number[]
  violation: string | undefined
}

/** The columns of a state. */
const [atDirectory, atClock, atFence, atBudgets, firstSession] = [0, 1, 2, 3, 4]

/** How many agents may still die, how many commands may start, and how many turns be interrupted. */
interface Budgets {
  crashes: number
  commands: number
  interruptions: number
}

/** One way for a state to continue. */
interface Choice {
  what: 'goes on' | 'dies' | 'starts a command' | 'its command ends' | 'is interrupted' | Operation
  clock: number
}

/** Moves are numbered by choice and column. */
const columns = 8

function claimsModel(options: ClaimsExploration): Model {
  const { operations, tickMs = ttlMs * 0.6, mutation, isFamily = false } = options
  const behavior = { isFamily, mutation }
  const directories = new Numbered<Directory>()
  const clocks = new Numbered<Clock>()
  const budgets = new Numbered<Budgets>()
  const sessions = new Numbered<Session>()
  const numberIn = <Value>(numbers: Numbered<Value>, value: Value): number =>
    numbers.numberOf(JSON.stringify(value), value)
  const events = new Numbered<Event>()
  const sessionNumber = (session: Session): number => sessions.numberOf(keyOf(session), session)
  const { ticks = 0, jumps = 0, crashes = 0, commands = 0, interruptions = 0 } = options
  const ids = operations.map((_, index) => `ses_${'abc'[index]}`)
  const start = [
    numberIn(directories, isFamily ? heldByParent() : emptyDirectory),
    numberIn(clocks, { mono: 0, offset: 0, ticksLeft: ticks, jumpsLeft: jumps }),
    0,
    numberIn(budgets, { crashes, commands, interruptions }),
    ...ids.map((id) => sessionNumber(newSession(id))),
  ]
  const next = new Uint32Array(start.length)
  const fences = new Numbered<number>()
  fences.numberOf('0', 0)

  const truths: Claim[][] = []
  const truthOf = (directory: number): Claim[] =>
    (truths[directory] ??= claimsIn(directories.valueOf(directory)))
  const times: number[][] = []
  const timesAfter = (clock: number): number[] =>
    (times[clock] ??= timesFrom(clocks.valueOf(clock), tickMs).map((time) => numberIn(clocks, time)))
  const sessionsIn = (state: Row): Session[] => ids.map((_, index) => sessionAt(state, firstSession + index))
  const sessionAt = (state: Row, column: number): Session => sessions.valueOf(state[column] ?? 0)

  function choices(state: Row, column: number): Choice[] {
    const clock = state[atClock] ?? 0
    const session = sessionAt(state, column)
    const { crashes, commands, interruptions } = budgets.valueOf(state[atBudgets] ?? 0)
    const all: Choice['what'][] = []
    if (session.command > 0) all.push('its command ends')
    if (session.isDead) return all.map((what) => ({ what, clock }))
    if (crashes > 0 && session.id !== breakerIn(options)) all.push('dies')
    const isActing =
      session.next === undefined &&
      session.interruptedAt === 0 &&
      (session.claim?.until ?? -1) >= clocks.valueOf(clock).mono
    if (isActing && commands > 0 && session.command === 0) all.push('starts a command')
    if (isActing && interruptions > 0) all.push('is interrupted')
    all.push(...beginnings(session, operations[column - firstSession] ?? 0, options))
    const timed = session.next?.call === 'now' ? timesAfter(clock) : session.next ? [clock] : []
    return [
      ...all.map((what) => ({ what, clock })),
      ...timed.map((clock) => ({ what: 'goes on' as const, clock })),
    ]
  }

  // What follows from an event depends on the session, the directory and the event: it is computed once.
  const steps = new Map<string, Step>()
  async function stepOf(number: number, directory: number, clock: number, facts: AllFacts): Promise<Step> {
    const session = sessions.valueOf(number)
    const isLook = session.next?.call === 'now'
    const key = `${number} ${directory} ${isLook ? `${clock} ${JSON.stringify(facts)}` : ''}`
    let step = steps.get(key)
    if (step === undefined) {
      const { answer, after, onTop } = perform(session, clock, directories.valueOf(directory))
      const then = after === directories.valueOf(directory) ? directory : numberIn(directories, after)
      step = {
        ...(await continued(session, isLook ? { answer, facts } : { answer })),
        directory: then,
        onTop,
        fences: onTop ? newFences(truthOf(directory), truthOf(then)) : [],
      }
      steps.set(key, step)
    }
    return step
  }

  async function continued(session: Session, event: Event): Promise<Pick<Step, 'session' | 'violation'>> {
    const all = [...session.events, numberIn(events, event)]
    const position = await positionOf(operationOf({ ...session, events: all }), behavior)
    if ('next' in position) {
      const { next } = position
      return { session: sessionNumber({ ...session, events: all, next }), violation: undefined }
    }
    const { result } = position
    const seen = all.map((each) => events.valueOf(each)).findLast(({ facts }) => facts !== undefined)
    const violation = wrongAnswer(session, result, seen?.facts ?? {})
    return { session: sessionNumber(settled(session, result)), violation }
  }

  function operationOf({ operation, claim, ...session }: Session): OperationOf {
    if (operation === undefined) throw new Error('no operation is under way')
    const all = session.events.map((each) => events.valueOf(each))
    return { ...session, operation, events: all, firstFence: claim?.firstFence }
  }

  async function begun(session: Session, operation: Operation, directory: number): Promise<Session> {
    const hadLost = session.claim !== undefined && !holds(session.id, truthOf(directory))
    const begins = { ...session, operation, events: [], begun: session.begun + 1, hadLost }
    // From here on the session does not count on its claim.
    const isLeaving = operation === 'end turn' || operation === 'release'
    const position = await positionOf(operationOf(begins), behavior)
    if (!('next' in position)) throw new Error('an operation without a call')
    return { ...begins, next: position.next, claim: isLeaving ? leaving(session.claim) : session.claim }
  }

  async function move(state: Row, column: number, { what, clock }: Choice): Promise<string | undefined> {
    const number = state[column] ?? 0
    const session = sessions.valueOf(number)
    next.set(state)
    next[atClock] = clock
    const put = (changed: Session): void => void (next[column] = sessionNumber(changed))
    const spend = (name: keyof Budgets): void => {
      const left = budgets.valueOf(state[atBudgets] ?? 0)
      next[atBudgets] = numberIn(budgets, { ...left, [name]: left[name] - 1 })
    }
    switch (what) {
      case 'dies':
        spend('crashes')
        put({ ...newSession(session.id), command: session.command, isDead: true })
        return undefined
      case 'starts a command':
        spend('commands')
        put({ ...session, command: session.claim?.firstFence ?? 0 })
        return undefined
      case 'its command ends':
        put({ ...session, command: 0 })
        return undefined
      case 'is interrupted': {
        spend('interruptions')
        const transcript = session.transcript + 1
        put({ ...session, transcript, interruptedAt: transcript })
        return undefined
      }
      case 'goes on':
        return await goOn(state, column, clock)
      default:
        put(await begun(session, what, state[atDirectory] ?? 0))
        return undefined
    }
  }

  async function goOn(state: Row, column: number, clock: number): Promise<string | undefined> {
    const [directory = 0, , fence = 0] = state
    const number = state[column] ?? 0
    const step = await stepOf(number, directory, clock, factsOf(sessionsIn(state)))
    next[atDirectory] = step.directory
    next[column] = step.session
    if (step.onTop && sessions.valueOf(number).operation === 'break')
      dropBroken(state, truthOf(directory), truthOf(step.directory))
    const highest = fences.valueOf(fence)
    const top = Math.max(highest, ...step.fences)
    next[atFence] = fences.numberOf(String(top), top)
    const isWrong = step.fences.some((each) => each <= highest)
    return isWrong ? `fence ${step.fences.join()} was given after ${highest}` : step.violation
  }

  /** The broken session may still believe that it holds the workspace: that is the will of the breaker. */
  function dropBroken(state: Row, before: readonly Claim[], after: readonly Claim[]): void {
    for (let column = firstSession; column < state.length; column++) {
      const session = sessionAt(next, column)
      if (holds(session.id, before) && !holds(session.id, after))
        next[column] = sessionNumber({
          ...session,
          claim: leaving(session.claim),
          command: 0,
          wasBroken: session.next !== undefined,
        })
    }
  }

  function perform({ id, next: call }: Session, clock: number, directory: Directory): Effect {
    if (call === undefined) throw new Error('the session has no call')
    if (call.call !== 'now') return carryOut(call, directory)
    const name = mutation === 'age on the wall clock' ? id : 'boot'
    return { answer: { value: nowOn(clocks.valueOf(clock), name) }, after: directory, onTop: false }
  }

  async function moves(state: Row, found: Found): Promise<void> {
    for (let column = firstSession; column < state.length; column++) {
      for (const [index, choice] of choices(state, column).entries()) {
        const violation = await move(state, column, choice)
        found(next, index * columns + column, violation ?? twoHolders(next))
      }
    }
  }

  /** A session counts if it believes that it has a claim, or if a command of it still runs. */
  function twoHolders(state: Row): string | undefined {
    const { mono } = clocks.valueOf(state[atClock] ?? 0)
    const all = sessionsIn(state)
    const holders = all.filter(
      ({ claim, interruptedAt, isDead }) => !isDead && interruptedAt === 0 && (claim?.until ?? -1) >= mono,
    )
    if (holders.length > 1) return `${holders.map(({ id }) => id).join(' and ')} both hold the workspace`
    const [holder] = holders
    const running = all.find(({ command, id }) => command > 0 && holder !== undefined && id !== holder.id)
    return running && `${holder?.id} holds the workspace while a command of ${running.id} runs`
  }

  async function describe(state: Row, number: number): Promise<string> {
    const column = number % columns
    const { id, next: call, operation } = sessionAt(state, column)
    const { what, clock } = choices(state, column)[Math.floor(number / columns)] ?? { what: '', clock: 0 }
    const who = `${describeClock(clocks.valueOf(clock))}: ${id}`
    if (what !== 'goes on') return `${who}: ${what}`
    const { answer } = perform(sessionAt(state, column), clock, directories.valueOf(state[0] ?? 0))
    return `${who}: ${operation}: ${call?.call} ${call?.name} → ${JSON.stringify(answer)}`
  }

  return { start, moves, describe }
}

const newSession = (id: string): Session => ({
  id,
  begun: 0,
  operation: undefined,
  events: [],
  next: undefined,
  claim: undefined,
  transcript: 1,
  hadLost: false,
  wasBroken: false,
  isDead: false,
  interruptedAt: 0,
  command: 0,
})

/** A claim that its session knows, and does not count on. */
const leaving = (claim: Session['claim']): Session['claim'] => claim && { ...claim, until: -1 }

const breakerIn = ({ operations, breaks }: ClaimsExploration): string | undefined =>
  breaks ? `ses_${'abc'[operations.length - 1]}` : undefined

/** The operations that a session can begin. */
function beginnings(session: Session, operations: number, options: ClaimsExploration): Operation[] {
  const { id, next, begun, claim, interruptedAt, command } = session
  if (next !== undefined || begun >= operations) return []
  if (id === breakerIn(options)) return ['break']
  if (claim === undefined) return ['acquire']
  if (interruptedAt > 0) return ['prompt']
  return command > 0 ? ['renew', 'end turn'] : ['renew', 'end turn', 'release']
}

/** At the end of an operation, the session believes the answer. */
function settled(session: Session, outcome: Outcome): Session {
  const { granted, renewed, operation } = outcome
  const claim = granted?.claim ?? renewed
  const believed = claim && { firstFence: claim.first_fence, until: session.wasBroken ? -1 : claim.until }
  return {
    ...session,
    operation: undefined,
    events: [],
    next: undefined,
    hadLost: false,
    wasBroken: false,
    interruptedAt: operation === 'prompt' ? 0 : session.interruptedAt,
    claim: believed,
  }
}

const factsOf = (sessions: readonly Session[]): AllFacts =>
  Object.fromEntries(
    sessions.map(({ id, isDead, interruptedAt, command }) => [id, { isDead, interruptedAt, command }]),
  )

/** The claims of the newest epoch. */
const claimsIn = (directory: Directory): Claim[] => parseClaimsRecord(currentOf(directory)[1])?.claims ?? []

const holds = (id: string, truth: readonly Claim[]): boolean =>
  truth.some(({ session_id }) => session_id === id)

const newFences = (before: readonly Claim[], after: readonly Claim[]): number[] =>
  after.map(({ fence }) => fence).filter((fence) => before.every((claim) => claim.fence !== fence))

/** Finds a wrong answer to a session, by what it saw when it last looked at the clock. */
function wrongAnswer(
  { id, hadLost }: Session,
  { granted, refusedBy, renewed, now }: Outcome,
  facts: AllFacts,
): string | undefined {
  if (renewed !== undefined && hadLost) return `${id} had lost its claim, and its renewal took it back`
  if (refusedBy?.session_id === parent) return `${id} was refused because of its parent's claim`
  const stolen = granted?.tookOver.find(
    ({ session_id, until, ends }) =>
      facts[session_id]?.isDead === false &&
      facts[session_id].interruptedAt === 0 &&
      ends === undefined &&
      now.mono <= until,
  )
  return stolen && `${id} took over the fresh claim of ${stolen.session_id}`
}

/** The register after the parent has acquired the workspace. */
function heldByParent(): Directory {
  const request = {
    sessionId: parent,
    holder: processOf(parent),
    paths: ['**'],
    mode: 'exclusive',
    forMs: ttlMs,
  } as const
  const observation = {
    now: { wall: 0, mono: 0, clock: 'boot' },
    liveness: () => 'alive' as const,
    work: () => [],
    isTurnOver: () => false,
  }
  const { next = noClaims('') } = decideAcquire(noClaims('/workspace'), request, observation, 1)
  return { isThere: true, epochs: [[1, JSON.stringify(next)]], top: 1 }
}
