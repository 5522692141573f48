import { fileRegister, type FileStep } from '../../src/lease/file-register.ts'
import type { Held, Steps } from '../../src/lease/register.ts'

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
  mutation?: Mutation
  maxStates?: number
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
  /** What the last read returned. */
  held: Held
  answers: Answer[]
  /** The top when the current operation began, and whether its create was on top. */
  topAtStart: number
  onTop: boolean
}

interface State {
  /** Epoch to text, as in the directory. */
  entries: Map<number, string>
  /** Every text that was once on top. */
  truth: Map<number, string>
  writers: Writer[]
  crashesLeft: number
  from?: State
  how: string
}

type Answer = { value: unknown } | { error: string }

export function explore(options: Exploration): Explored {
  const seen = new Set<string>()
  const first: State = {
    entries: new Map(),
    truth: new Map(),
    writers: Array.from({ length: options.writers }, () => idle()),
    crashesLeft: options.crashes ?? 0,
    how: 'start',
  }
  const pending = [first]
  for (let state = pending.pop(); state !== undefined; state = pending.pop()) {
    const key = keyOf(state)
    if (seen.has(key)) continue
    seen.add(key)
    if (options.maxStates !== undefined && seen.size > options.maxStates) break
    for (const next of successors(state, options)) {
      if (typeof next.bad === 'string')
        return { states: seen.size, violation: next.bad, trace: traceOf(next.state) }
      pending.push(next.state)
    }
  }
  return { states: seen.size }
}

const idle = (): Writer => ({
  done: 0,
  crashed: false,
  held: { epoch: 0, text: undefined },
  answers: [],
  topAtStart: 0,
  onTop: false,
})

interface Successor {
  state: State
  bad?: string
}

function* successors(state: State, options: Exploration): Generator<Successor> {
  for (const [index, writer] of state.writers.entries()) {
    if (writer.crashed || writer.done === options.swaps * 2) continue
    yield advance(state, index, options)
    if (state.crashesLeft > 0 && writer.answers.length > 0) {
      const writers = state.writers.with(index, { ...writer, crashed: true, answers: [] })
      yield {
        state: {
          ...state,
          writers,
          crashesLeft: state.crashesLeft - 1,
          from: state,
          how: `${name(index)} dies`,
        },
      }
    }
  }
  const removable =
    options.mutation === 'compaction of the top' ? state.entries.size > 0 : state.entries.size > 1
  if (options.compactAnytime && removable) {
    const oldest = Math.min(...state.entries.keys())
    const entries = new Map([...state.entries].filter(([epoch]) => epoch !== oldest))
    yield { state: { ...state, entries, from: state, how: `compaction of ${oldest}` } }
  }
}

const name = (index: number): string => String.fromCharCode(65 + index)

/** One more step of one writer. */
function advance(state: State, index: number, options: Exploration): Successor {
  const before = state.writers[index]
  if (before === undefined) throw new Error('no such writer')
  const writer: Writer = { ...before, answers: [...before.answers] }
  if (writer.answers.length === 0) Object.assign(writer, { topAtStart: topOf(state), onTop: false })
  const next: State = { ...state, writers: state.writers.with(index, writer), from: state, how: '' }

  const operation = replay(start(writer, index, options), writer.answers)
  if (operation.done) throw new Error('an operation without steps')
  const answer = carryOut(operation.value as FileStep, next, writer, options)
  writer.answers.push(answer)
  next.how = `${name(index)}: ${describe(operation.value as FileStep)} → ${JSON.stringify(answer)}`

  const after = replay(start(writer, index, options), writer.answers)
  if (!after.done) return { state: next }
  const bad = judge(writer, after.value, next)
  if (writer.done % 2 === 0) writer.held = after.value as Held
  next.how += ` ⇒ ${writer.done % 2 === 0 ? 'read' : 'swap'} ${JSON.stringify(after.value ?? null)}`
  Object.assign(writer, { done: writer.done + 1, answers: [] })
  return bad === undefined ? { state: next } : { state: next, bad }
}

function start(writer: Writer, index: number, options: Exploration): Steps<FileStep, unknown> {
  const register = fileRegister('/locks', options.keptEpochs)
  if (writer.done % 2 === 0) return register.read('key')
  return register.swap('key', writer.held.epoch, `${name(index)}${writer.done}`)
}

/** Feeds the answers got so far; returns the step that comes next, or the result. */
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

/** The file system: one call, atomic. */
function carryOut(step: FileStep, state: State, writer: Writer, options: Exploration): Answer {
  if (!('path' in step)) throw new Error(`unexpected step ${step.call}`)
  const epoch = Number(step.path.split('/').at(-1))
  switch (step.call) {
    case 'list':
      return { value: mutatedListing(writer, options) ?? [...state.entries.keys()].map(String) }
    case 'readlink': {
      const text = state.entries.get(epoch)
      return text === undefined ? { error: 'ENOENT' } : { value: text }
    }
    case 'symlink': {
      if (state.entries.has(epoch)) return { error: 'EEXIST' }
      writer.onTop = epoch > topOf(state)
      state.entries = new Map(state.entries).set(epoch, step.text)
      if (writer.onTop) state.truth = new Map(state.truth).set(epoch, step.text)
      return { value: undefined }
    }
    case 'unlink': {
      if (!state.entries.has(epoch)) return { error: 'ENOENT' }
      state.entries = new Map([...state.entries].filter(([each]) => each !== epoch))
      return { value: undefined }
    }
    default:
      throw new Error(`unexpected step ${step.call}`)
  }
}

/** A listing that is not made is one that shows what the writer knows already. */
function mutatedListing(writer: Writer, { mutation }: Exploration): string[] | undefined {
  const isSwap = writer.done % 2 === 1
  if (mutation === 'no listing after the create' && isSwap) return [String(writer.held.epoch + 1)]
  if (mutation === 'no listing after the read' && !isSwap) {
    const [listed] = writer.answers.slice(-2)
    if (writer.answers.length >= 2 && listed !== undefined && 'value' in listed)
      return listed.value as string[]
  }
  return undefined
}

/** What must be true of a result. */
function judge(writer: Writer, result: unknown, state: State): string | undefined {
  if (writer.done % 2 === 1) {
    return result !== undefined && !writer.onTop
      ? `a swap was won with epoch ${String(result)}, which was not on top`
      : undefined
  }
  const { epoch, text } = result as Held
  if (epoch < writer.topAtStart)
    return `a read returned epoch ${epoch}, but ${writer.topAtStart} was there before it began`
  if (state.truth.get(epoch) !== text)
    return `a read returned ${text}, which was never the truth of epoch ${epoch}`
  return undefined
}

const topOf = ({ truth }: State): number => Math.max(0, ...truth.keys())

const describe = (step: FileStep): string =>
  'path' in step ? `${step.call} ${step.path.slice('/locks/key'.length)}` : step.call

function keyOf({ entries, truth, writers, crashesLeft }: State): string {
  return JSON.stringify([[...entries].sort(byEpoch), [...truth].sort(byEpoch), writers, crashesLeft])
}

const byEpoch = ([a]: [number, string], [b]: [number, string]): number => a - b

function traceOf(state: State): string[] {
  const trace: string[] = []
  for (let at: State | undefined = state; at !== undefined; at = at.from) trace.unshift(at.how)
  return trace
}
