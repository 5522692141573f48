import { systemClock } from '../../src/base/process/clock.ts'
import type { Identity } from '../../src/base/process/liveness.ts'
import { thisMachine } from '../../src/base/process/platform.ts'
import { formatClaimsRecord, hasPass, noClaims } from '../../src/lease/claim-record.ts'
import { isInForce, type Observation } from '../../src/lease/claim-status.ts'
import { fileRegister, type FileStep } from '../../src/lease/file-register.ts'
import { readMarks } from '../../src/lease/marks.ts'
import type { MarkFiles, Now, Register, RegisterEntry, Steps } from '../../src/lease/register.ts'
import { type AcquireRequest, decideAcquire, decideRelease } from '../../src/lease/rules.ts'
import { type Decide, StoredClaims } from '../../src/lease/stored-claims.ts'
import { Aliases } from './explorer-aliases.ts'
import {
  type Answer,
  carryOut,
  type Directory,
  epochOf,
  nameOf,
  topOf,
  without,
} from './explorer-directory.ts'
import { type Explored, type Found, type Model, Numbered, type Row, search } from './explorer-search.ts'
import { claimsIn } from './explorer-verdict.ts'

/**
 * Explores calls that begin with marks, in every order of steps. A session `a` holds the workspace, has
 * paused for longer than its time to live, and has a pass. Its hooks begin calls by the steps of the
 * script, or, if the script asks Node, by those of Node; meanwhile other processes take the workspace over
 * and release it. They run the shipped claims, rules, marks and file driver. A process that is killed is
 * one that makes no further step, so every order includes that.
 */
export interface MarkExploration {
  processes: readonly ProcessKind[]
  mutation?: MarkMutation
}

/**
 * `hook` begins a call, and may end it; `script` is a hook that is killed when it asks Node; `taker` is
 * another session; `releaser` releases the claim if no call runs; `writer` was suspended before it could
 * create the epoch of the pass, and does so when that is gone.
 */
export type ProcessKind = 'hook' | 'script' | 'taker' | 'releaser' | 'writer'

/** Ways to break the protocol, each of which the explorer must find. */
export type MarkMutation =
  | 'looking before marking'
  | 'no closing swap'
  | 'reading the marks only before the closing swap'
  | 'probing two epochs instead of listing'
  | 'compacting the newest first'

export const exploreMarks = (options: MarkExploration): Explored => search(marksModel(options))

const ttlMs = 300_000
const workspace = '/workspace'
const key = '0123456789ab'
/** Six minutes after the session has got its pass. */
const now: Now = { wall: 1_700_000_360_000, mono: 360_000, clock: 'boot' }
const uptime = 1000
const firstEpoch = 5

/** The files of the home: the epochs of the key, the pass of the session, and its marks by their epochs. */
interface Home {
  directory: Directory
  /** The epoch of the pass. */
  pass: number
  marks: readonly (readonly [epoch: number, text: string])[]
}

/** A step of a script, or of Node beside the register. */
type MarkStep =
  | { call: 'readPass' | 'list epochs' | 'run' }
  | { call: 'probe' | 'open' | 'writePass'; epoch: number }
  | { call: 'append'; epoch: number; text: string }
type Step = FileStep | MarkStep

/** Happens at once with the step before it. */
interface Moment {
  moment: 'allowed' | 'ended'
}

/** A process after the answers to its steps so far. */
interface Process {
  kind: ProcessKind
  name: string
  /** By their numbers: the texts of records are long. */
  answers: readonly number[]
  isRunning: boolean
  isDone: boolean
}

const allAnswers = new Numbered<Answer>()

const identityOf = (session: string): Identity => ({
  ...thisMachine(),
  pid: session.codePointAt(0) ?? 0,
  started: 1,
})

const requestOf = (session: string, more: Partial<AcquireRequest> = {}): AcquireRequest => ({
  sessionId: session,
  holder: identityOf(session),
  paths: ['**'],
  mode: 'exclusive',
  ttlMs,
  ...more,
})

function startOf(): Home {
  const observation: Observation = {
    now: { ...now, wall: now.wall - 360_000, mono: 0 },
    liveness: () => 'alive',
  }
  const request = requestOf('a', { passUptime: uptime - 360 })
  const { next } = decideAcquire(noClaims(workspace), request, observation, 1)
  if (next === undefined) throw new Error('the session did not get the workspace')
  const text = formatClaimsRecord(
    { ...next, boot: thisMachine().boot.slice(0, 8) },
    { writer: 'a', count: 1 },
  )
  return {
    directory: { isThere: true, files: [[String(firstEpoch), text]], top: firstEpoch, swept: 0 },
    pass: firstEpoch,
    marks: [[firstEpoch, '']],
  }
}

/** A session's claims, as its process reads and changes them. */
function claimsOf({ name }: Process, aliases: Aliases, mutation: MarkMutation | undefined) {
  const files = fileRegister('/locks', 1)
  const wrapped = aliases.wrap(mutation === 'no closing swap' ? closedAlready(files) : files)
  const fresh: MarkFiles<FileStep> = {
    directory: '/passes',
    read: (session) => readMarks('/passes', session),
  }
  const isOnce = mutation === 'reading the marks only before the closing swap'
  const register: Register<FileStep> = { ...wrapped, marks: isOnce ? readOnce(fresh) : fresh }
  const stored = new StoredClaims(register, { key, name: workspace }, () => 'alive')
  // Without a table of processes, a call counts as running until its end is noted.
  const blind =
    <Answer>(decide: Decide<Answer>): Decide<Answer> =>
    (record, observation, fence, tried) =>
      decide(record, { ...observation, processes: undefined }, fence, tried)
  return { register, stored, change: <Answer>(decide: Decide<Answer>) => stored.change(blind(decide)), name }
}

/** A register whose records look as if their passes were closed. */
const closedAlready = (register: Register<FileStep>): Register<FileStep> => ({
  ...register,
  *read(of: string, known?: RegisterEntry): Steps<FileStep, RegisterEntry> {
    const { epoch, text } = yield* register.read(of, known)
    return { epoch, text: text?.replace('"breaks":[]', '"breaks":[],"closed":true') }
  },
})

type Read = Result<ReturnType<MarkFiles['read']>>
type Result<Steps> = Steps extends Generator<unknown, infer Value, unknown> ? Value : never

/** Marks that are read once in an operation. */
function readOnce(marks: MarkFiles<FileStep>): MarkFiles<FileStep> {
  const known = new Map<string, Read>()
  return {
    ...marks,
    *read(session) {
      const found = known.get(session) ?? (yield* marks.read(session))
      known.set(session, found)
      return found
    },
  }
}

/** The claims do not know what their register's steps are: here, calls of files. */
const ofFiles = <Value>(steps: Steps<unknown, Value>): Steps<Step, Value> => steps as Steps<Step, Value>

type Claims = ReturnType<typeof claimsOf>
type Run = Generator<Step | Moment, void, unknown>

/** The script: `stint-hook.sh`. */
function* script({ kind, name: id }: Process, claims: Claims, mutation: MarkMutation | undefined): Run {
  const epoch = (yield { call: 'readPass' }) as number
  let isOnTop = mutation === 'looking before marking' && (yield* look(epoch, mutation))
  if (epoch > 0 && ((yield { call: 'open', epoch }) as boolean)) {
    yield { call: 'append', epoch, text: `+${id} ${uptime}.00 97 command\n` }
    if (mutation !== 'looking before marking') isOnTop = yield* look(epoch, mutation)
    if (isOnTop) yield { moment: 'allowed' }
  }
  if (!isOnTop && (kind === 'script' || !(yield* askNode(id, claims)))) return
  yield { call: 'run' }
  yield { moment: 'ended' }
  if ((yield { call: 'open', epoch: firstEpoch }) as boolean)
    yield { call: 'append', epoch: firstEpoch, text: `-${id} ${uptime}.00\n` }
}

function* look(epoch: number, mutation: MarkMutation | undefined): Generator<Step, boolean, unknown> {
  if (mutation !== 'probing two epochs instead of listing')
    return topOf((yield { call: 'list epochs' }) as string[]) === epoch
  const isThere = (yield { call: 'probe', epoch }) as boolean
  return isThere && !((yield { call: 'probe', epoch: epoch + 1 }) as boolean)
}

/** The hook in Node: `beginByMark`, then a change of the record, then a new pass. */
function* askNode(id: string, claims: Claims): Generator<Step | Moment, boolean, unknown> {
  const { epoch, record, observation } = yield* ofFiles(claims.stored.read())
  const own = record.claims.find(({ session_id }) => session_id === 'a')
  const stands = own !== undefined && isInForce(own, { ...observation, processes: undefined })
  if (stands && hasPass(record) && record.closed !== true) {
    yield { call: 'append', epoch, text: `+${id} ${uptime}.00 97 command\n` }
    const { epoch: after } = yield* claims.register.read(key)
    if (after === epoch) {
      yield { moment: 'allowed' }
      yield { call: 'writePass', epoch }
      return true
    }
  }
  const request = requestOf('a', { call: { id, kind: 'command' }, passUptime: uptime })
  const decided = yield* ofFiles(
    claims.change((all, seen, fence) => decideAcquire(all, request, seen, fence)),
  )
  if (!decided.answer.granted) {
    yield { call: 'append', epoch: firstEpoch, text: `-${id} ${uptime}.00\n` }
    return false
  }
  yield { moment: 'allowed' }
  yield { call: 'writePass', epoch: decided.epoch }
  return true
}

function* runOf(process: Process, claims: Claims, mutation: MarkMutation | undefined): Run {
  const { kind } = process
  if (kind === 'hook' || kind === 'script') yield* script(process, claims, mutation)
  else if (kind === 'writer')
    yield* claims.register.swap(key, { epoch: firstEpoch - 1, text: 'before' }, freeText)
  else if (kind === 'taker')
    yield* ofFiles(claims.change((all, seen, fence) => decideAcquire(all, requestOf('b'), seen, fence)))
  else
    yield* ofFiles(
      claims.change((all) => {
        const mine = all.claims.find(({ session_id }) => session_id === 'a')
        const isBusy = mine?.holders.some(({ calls }) => calls.length > 0) ?? false
        return isBusy ? { answer: { released: false } } : decideRelease(all, { sessionId: 'a' })
      }),
    )
}

const freeText = formatClaimsRecord(noClaims(workspace), { writer: 'w', count: 1 })

/** Carries out a step. */
function perform(
  step: Step,
  home: Home,
  mutation: MarkMutation | undefined,
): { answer: Answer; after: Home } {
  const gives = (value: unknown, after = home) => ({ answer: { value }, after })
  const { directory, marks } = home
  const textOf = (epoch: number): string | undefined => marks.find(([of]) => of === epoch)?.[1]
  switch (step.call) {
    case 'now':
      return gives(now)
    case 'uptime':
      return gives(uptime)
    case 'run':
      return gives(null)
    case 'readPass':
      return gives(home.pass)
    case 'open':
      return gives(textOf(step.epoch) !== undefined)
    case 'append': {
      const text = (textOf(step.epoch) ?? '') + step.text
      const others = marks.filter(([of]) => of !== step.epoch)
      return gives(null, {
        ...home,
        marks: [...others, [step.epoch, text] as const].sort(([a], [b]) => a - b),
      })
    }
    case 'writePass': {
      const known = textOf(step.epoch) === undefined ? [...marks, [step.epoch, ''] as const] : marks
      return gives(null, { ...home, pass: step.epoch, marks: [...known].sort(([a], [b]) => a - b) })
    }
    case 'probe':
      return gives(directory.files.some(([name]) => epochOf(name) === step.epoch))
    case 'list epochs':
      return gives(directory.files.map(([name]) => name))
    default:
  }
  if ('path' in step && step.path.startsWith('/passes/')) {
    const epoch = Number(step.path.split('.').at(-1))
    return step.call === 'list' ? gives(marks.map(([of]) => `${key}.${of}`)) : gives(textOf(epoch))
  }
  if (step.call === 'unlink' && mutation === 'compacting the newest first') {
    const newest = directory.files.map(([name]) => name).sort((a, b) => epochOf(b) - epochOf(a))[0] ?? ''
    return gives(null, { ...home, directory: without(directory, newest) })
  }
  const { answer, after } = carryOut(step, directory)
  return { answer, after: { ...home, directory: after } }
}

interface Advanced {
  process: Process
  home: Home
  step: Step
  answer: Answer
}

/** Runs a process through its answers and one step further; a generator cannot be copied. */
function advance(process: Process, home: Home, mutation: MarkMutation | undefined): Advanced | undefined {
  const aliases = new Aliases(`ses_${process.name}`, workspace)
  const { mono } = systemClock
  systemClock.mono = () => now.mono
  try {
    const run = runOf(process, claimsOf(process, aliases, mutation), mutation)
    let isRunning = false
    const settle = (at: IteratorResult<Step | Moment, void>): IteratorResult<Step, void> => {
      while (!at.done && 'moment' in at.value) {
        isRunning = at.value.moment === 'allowed'
        at = run.next()
      }
      return at as IteratorResult<Step, void>
    }
    const give = (answer: Answer): IteratorResult<Step, void> => {
      const incoming = aliases.incoming(answer)
      return settle(
        'value' in incoming
          ? run.next(incoming.value)
          : run.throw(Object.assign(new Error(incoming.error), { code: incoming.error })),
      )
    }
    let at = settle(run.next())
    for (const answer of process.answers) {
      if (!at.done) outgoing(at.value, aliases)
      at = give(allAnswers.valueOf(answer))
    }
    if (at.done) return undefined
    const step = outgoing(at.value, aliases)
    const { answer, after } = perform(step, home, mutation)
    at = give(answer)
    const next = {
      ...process,
      answers: at.done ? [] : [...process.answers, allAnswers.numberOf(JSON.stringify(answer), answer)],
      isRunning,
      isDone: at.done === true,
    }
    return { process: next, home: after, step, answer }
  } finally {
    systemClock.mono = mono
  }
}

const outgoing = (step: Step, aliases: Aliases): Step =>
  'path' in step && !step.path.startsWith('/passes/') ? aliases.outgoing(step) : step

function marksModel({ processes: kinds, mutation }: MarkExploration): Model {
  const homes = new Numbered<Home>()
  const processes = new Numbered<Process>()
  const homeNumber = (home: Home): number => homes.numberOf(JSON.stringify(home), home)
  const processNumber = (process: Process): number => processes.numberOf(JSON.stringify(process), process)
  const start = [
    homeNumber(startOf()),
    ...kinds.map((kind, index) =>
      processNumber({ kind, name: `${kind[0]}${index}`, answers: [], isRunning: false, isDone: false }),
    ),
  ]
  const next = new Uint32Array(start.length)

  const advances = new Map<number, { process: number; home: number }>()
  const advanced = (process: number, home: number) => {
    const pair = process * 2 ** 24 + home
    let known = advances.get(pair)
    if (known === undefined) {
      const made = advance(processes.valueOf(process), homes.valueOf(home), mutation)
      if (made === undefined) throw new Error('a process without a step')
      known = { process: processNumber(made.process), home: homeNumber(made.home) }
      advances.set(pair, known)
    }
    return known
  }

  const losses = new Map<number, string | undefined>()
  /** What the claims say against a call of the session. */
  const lossOf = (home: number): string | undefined => {
    if (losses.has(home)) return losses.get(home)
    const { directory } = homes.valueOf(home)
    const holders = claimsIn(directory).map(({ session_id }) => session_id)
    // A broken compaction may have removed the newest record.
    const isKnown = directory.files.some(([name]) => epochOf(name) === directory.top)
    const loss =
      holders.includes('a') || !isKnown ? undefined : `${holders.join() || 'no session'} holds the workspace`
    losses.set(home, loss)
    return loss
  }

  const violationOf = (state: Row): string | undefined => {
    const all = Array.from(state.subarray(1), (each) => processes.valueOf(each))
    const running = all.find(({ isRunning }) => isRunning)
    const loss = running && lossOf(state[0] ?? 0)
    return loss && `call ${running?.name} runs, and ${loss}`
  }

  return {
    start,
    moves(state: Row, found: Found): void {
      for (let column = 1; column < state.length; column++) {
        const process = state[column] ?? 0
        if (processes.valueOf(process).isDone) continue
        const after = advanced(process, state[0] ?? 0)
        next.set(state)
        next[0] = after.home
        next[column] = after.process
        found(next, column, violationOf(next))
      }
    },
    describe(state: Row, column: number): string {
      const process = processes.valueOf(state[column] ?? 0)
      const made = advance(process, homes.valueOf(state[0] ?? 0), mutation)
      const { step, answer } = made ?? {}
      const where = step && 'path' in step ? ` ${nameOf(step.path)}` : ''
      return `${process.name}: ${step?.call}${where} ${JSON.stringify(step && 'text' in step ? step.text.slice(0, 60) : '')} → ${JSON.stringify(answer).slice(0, 100)}`
    },
  }
}
