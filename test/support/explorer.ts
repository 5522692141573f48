import { fileRegister, type FileStep } from '../../src/lease/file-register.ts'
import type { Held, Register, Steps } from '../../src/lease/register.ts'

/**
 * Steps the shipped file driver over a directory in memory, in every possible order: several writers each read and swap a few times, any of
 * them may stop for good at any point, and old epochs may be compacted at any point. Every state is visited once.
 *
 * A state is plain data. A writer's place in the driver's code is given by the answers its current operation has got so
 * far: the generator is made anew and fed with them.
 */
export interface Exploration {
  writers: number
  swaps: number
  /** Epochs the driver's own compaction leaves: 1 makes it compact at every swap. */
  keptEpochs: number
  /** May the oldest epoch vanish at any moment, whoever is where? */
  compactAnytime?: boolean
  /** How many writers may die, each at any point. */
  crashes?: number
  /** Does a read say what the writer's last one has shown? */
  remembers?: boolean
  mutation?: Mutation
}

/** Ways to break the protocol from outside, to see the explorer notice. */
export type Mutation = 'no listing after the create' | 'no listing after the read' | 'compaction of the top'

export interface Explored {
  states: number
  /** The first thing that must never happen, with the steps that led to it. */
  violation?: string
  trace?: string[]
}

interface Writer {
  /** Operations done: even numbers are reads, odd ones swaps. */
  done: number
  crashed: boolean
  /** The epoch the last read returned: what a swap expects. */
  held: number
  answers: readonly Answer[]
  /** The top when the current operation began. */
  topAtStart: number
  /** Was what it created on top? */
  onTop: boolean
  /** What its last read returned. */
  known: Held | undefined
  /** All of the above as text, but for the names of writers in it. */
  key: string
  /** A text it has read in this operation: it names its writer. */
  text: string
}

type Entry = readonly [epoch: number, text: string]

interface State {
  /** The directory, by epoch. */
  entries: readonly Entry[]
  /** Every text that was once on top, by epoch. */
  truth: readonly Entry[]
  writers: readonly Writer[]
  crashesLeft: number
  from: State | undefined
  how: () => string
}

type Answer = { value: unknown } | { error: string }

interface Successor {
  state: State
  bad?: string
}

export function explore(options: Exploration): Explored {
  const register = fileRegister('/locks', options.keptEpochs)
  const seen = new Set<string>()
  const pending: State[] = [
    {
      entries: [],
      truth: [],
      writers: Array.from({ length: options.writers }, () => keyed(idle)),
      crashesLeft: options.crashes ?? 0,
      from: undefined,
      how: () => 'start',
    },
  ]
  for (let state = pending.pop(); state !== undefined; state = pending.pop()) {
    const key = keyOf(state)
    if (seen.has(key)) continue
    seen.add(key)
    for (const next of successors(state, register, options)) {
      if (next.bad !== undefined)
        return { states: seen.size, violation: next.bad, trace: traceOf(next.state) }
      pending.push(next.state)
    }
  }
  return { states: seen.size }
}

const idle = { done: 0, crashed: false, held: 0, answers: [], topAtStart: 0, onTop: false, known: undefined }

const keyed = (writer: Omit<Writer, 'key' | 'text'>): Writer => {
  const { done, crashed, held, answers, topAtStart, onTop, known } = writer
  let text = ''
  const nameless = answers.map((answer) => {
    if ('error' in answer || typeof answer.value !== 'string') return answer
    text = answer.value
    return 'text'
  })
  return {
    ...writer,
    text,
    key: JSON.stringify([done, crashed, held, nameless, topAtStart, onTop, known?.epoch]),
  }
}

function successors(state: State, register: Register<FileStep>, options: Exploration): Successor[] {
  const all: Successor[] = []
  for (const [index, writer] of state.writers.entries()) {
    if (writer.crashed || writer.done === options.swaps * 2) continue
    all.push(advance(state, index, register, options))
    if (state.crashesLeft > 0 && writer.answers.length > 0) {
      const writers = state.writers.with(index, keyed({ ...idle, crashed: true }))
      const crashesLeft = state.crashesLeft - 1
      all.push({ state: { ...state, writers, crashesLeft, from: state, how: () => `${name(index)} dies` } })
    }
  }
  const kept = options.mutation === 'compaction of the top' ? 0 : 1
  const [oldest] = state.entries
  if (options.compactAnytime && oldest !== undefined && state.entries.length > kept) {
    const entries = state.entries.slice(1)
    all.push({ state: { ...state, entries, from: state, how: () => `compaction of ${oldest[0]}` } })
  }
  return all
}

const name = (index: number): string => String.fromCharCode(65 + index)

/** One more step of one writer. */
function advance(state: State, index: number, register: Register<FileStep>, options: Exploration): Successor {
  const before = state.writers[index]
  if (before === undefined) throw new Error('no such writer')
  const isSwap = before.done % 2 === 1
  const steps = isSwap
    ? register.swap('key', before.held, `${name(index)}${before.done}`)
    : register.read('key', before.known)
  const at = replay(steps, before.answers)
  if (at.done) throw new Error('an operation without steps')
  const step = at.value
  const effect = carryOut(step, state, before, options)
  const { answer, entries, truth } = effect
  const writer = {
    ...before,
    answers: [...before.answers, answer],
    topAtStart: before.answers.length === 0 ? topOf(state) : before.topAtStart,
    onTop: effect.onTop ?? before.onTop,
  }
  const after = 'error' in answer ? steps.throw(errno(answer.error)) : steps.next(answer.value)
  const result = after.done ? after.value : undefined
  const how = () =>
    `${name(index)}: ${describe(step)} → ${JSON.stringify(answer)}${after.done ? ` ⇒ ${JSON.stringify(result ?? null)}` : ''}`
  const known = after.done && !isSwap && options.remembers ? (result as Held) : before.known
  const moved = after.done
    ? { ...idle, known, done: before.done + 1, held: isSwap ? 0 : (result as Held).epoch }
    : beginsAnew(isSwap, after.value, answer)
      ? { ...idle, known, done: before.done, held: before.held }
      : writer
  const next: State = {
    entries,
    truth,
    writers: state.writers.with(index, keyed(moved)),
    crashesLeft: state.crashesLeft,
    from: state,
    how,
  }
  return { state: next, bad: after.done ? judge(isSwap, writer, result, truth) : undefined }
}

/** A read that lists, but not to confirm what it has just read, is a read from the start: its past no longer matters. */
const beginsAnew = (isSwap: boolean, step: FileStep, last: Answer): boolean =>
  !isSwap && step.call === 'list' && !('value' in last && typeof last.value === 'string')

/** Feeds the answers got so far; returns the step that comes next. */
function replay(
  steps: Steps<FileStep, unknown>,
  answers: readonly Answer[],
): IteratorResult<FileStep, unknown> {
  let at = steps.next()
  for (const answer of answers) {
    at = 'error' in answer ? steps.throw(errno(answer.error)) : steps.next(answer.value)
  }
  return at
}

const errno = (code: string): Error => Object.assign(new Error(code), { code })

interface Effect {
  answer: Answer
  entries: readonly Entry[]
  truth: readonly Entry[]
  onTop?: boolean
}

/** The file system: one call, atomic. */
function carryOut(step: FileStep, { entries, truth }: State, writer: Writer, options: Exploration): Effect {
  if (!('path' in step)) throw new Error(`unexpected step ${step.call}`)
  const same = { entries, truth }
  const epoch = Number(step.path.slice(step.path.lastIndexOf('/') + 1))
  const there = entries.find(([each]) => each === epoch)
  switch (step.call) {
    case 'list':
      return {
        ...same,
        answer: { value: mutatedListing(writer, options) ?? entries.map(([each]) => String(each)) },
      }
    case 'readlink':
      return { ...same, answer: there === undefined ? { error: 'ENOENT' } : { value: there[1] } }
    case 'symlink': {
      if (there !== undefined) return { ...same, answer: { error: 'EEXIST' } }
      const onTop = epoch > (truth.at(-1)?.[0] ?? 0)
      const entry: Entry = [epoch, step.text]
      return {
        answer: { value: null },
        entries: [...entries, entry].sort(([a], [b]) => a - b),
        truth: onTop ? [...truth, entry] : truth,
        onTop,
      }
    }
    case 'unlink':
      if (there === undefined) return { ...same, answer: { error: 'ENOENT' } }
      return { truth, entries: entries.filter((each) => each !== there), answer: { value: null } }
    default:
      throw new Error(`unexpected step ${step.call}`)
  }
}

/** A listing that is not made is one that shows what the writer knows already. */
function mutatedListing(writer: Writer, { mutation }: Exploration): string[] | undefined {
  const isSwap = writer.done % 2 === 1
  if (mutation === 'no listing after the create' && isSwap) return [String(writer.held + 1)]
  const [listed, read] = writer.answers
  if (
    mutation !== 'no listing after the read' ||
    isSwap ||
    read === undefined ||
    !listed ||
    !('value' in listed)
  ) {
    return undefined
  }
  return listed.value as string[]
}

/** What must be true of a result. */
function judge(
  isSwap: boolean,
  writer: Pick<Writer, 'onTop' | 'topAtStart'>,
  result: unknown,
  truth: readonly Entry[],
): string | undefined {
  if (isSwap) {
    if (result === undefined || writer.onTop) return undefined
    return `a swap was won with epoch ${String(result)}, which was not on top`
  }
  const { epoch, text } = result as Held
  if (epoch < writer.topAtStart)
    return `a read returned epoch ${epoch}, but ${writer.topAtStart} was there before it began`
  if (truth.find(([each]) => each === epoch)?.[1] === text) return undefined
  return `a read returned ${text}, which was never the truth of epoch ${epoch}`
}

const topOf = ({ truth }: State): number => truth.at(-1)?.[0] ?? 0

const describe = (step: FileStep): string =>
  'path' in step ? `${step.call} ${step.path.slice('/locks/key'.length)}` : step.call

/** Writers are alike: two states that differ only in which of them is where are one state. */
function keyOf({ entries, truth, writers, crashesLeft }: State): string {
  const order = writers.map((_, index) => index).sort((a, b) => compare(writers[a]?.key, writers[b]?.key))
  const renamed = (text: string): string => order.indexOf(text.charCodeAt(0) - 65) + text.slice(1)
  const list = (all: readonly Entry[]): string =>
    all.map(([epoch, text]) => `${epoch}=${renamed(text)}`).join(' ')
  const places = order.map((index) => {
    const { key = '', text = '', known } = writers[index] ?? {}
    return `${key} ${renamed(text)} ${renamed(known?.text ?? '')}`
  })
  return `${list(entries)}|${list(truth)}|${places.join('|')}|${crashesLeft}`
}

const compare = (a = '', b = ''): number => (a < b ? -1 : a > b ? 1 : 0)

function traceOf(state: State): string[] {
  const trace: string[] = []
  for (let at: State | undefined = state; at !== undefined; at = at.from) trace.unshift(at.how())
  return trace
}
