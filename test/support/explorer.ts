import { fileRegister, type RegisterFiles } from '../../src/lease/file-register.ts'
import type { RegisterEntry } from '../../src/lease/register.ts'
import {
  type Answer,
  type Call,
  carryOut,
  currentOf,
  type Directory,
  type Effect,
  emptyDirectory,
  isStray,
} from './explorer-directory.ts'
import { type Mutation, mutated } from './explorer-mutations.ts'
import { type Position, replay } from './explorer-replay.ts'
import { type Explored, type Found, type Model, Numbered, type Row, search } from './explorer-search.ts'

/** The bounds of an exploration, and what may happen during it. */
export interface Exploration {
  writers: number
  swaps: number
  /** How many writers may die, each at any point. */
  crashes?: number
  mutation?: Mutation
  /**
   * Keeps states apart that are merged otherwise: those that differ only in which writer is where (writers
   * are alike, and the register ignores the contents of texts), or in what `reduced` leaves out.
   */
  unreduced?: boolean
}

/**
 * Runs the shipped register over a directory in memory, in every possible order of its calls: several writers
 * read and swap a few times each, and any may die at any point. Every state is visited once.
 */
export const explore = (options: Exploration): Promise<Explored> => search(writersModel(options))

/** A writer that reads and swaps repeatedly; the answers to its operation give its position in the code. */
interface Writer {
  name: string
  /** Its place among the writers, if a mutation tells them apart. */
  index: number
  /** Operations done: even ones are reads, odd ones swaps. */
  done: number
  /** The result of the last read, which a swap replaces. */
  held: Pick<RegisterEntry, 'epoch' | 'text'>
  answers: readonly Answered[]
  /** How many of the answers no longer matter, as the read has started over. */
  forgotten: number
  /** The highest epoch when the read began or started over. */
  topAtStart: number
  /** The epoch that a swap created was on top. */
  onTop: boolean
  /** The epoch that was current when the swap created one above it, if the writer had not read that one. */
  overwrote: number
}

type Answered = Answer & { to: Call['call'] }

const idle: Writer = {
  name: '',
  index: 0,
  done: 0,
  held: { epoch: 0, text: undefined },
  answers: [],
  forgotten: 0,
  topAtStart: 0,
  onTop: false,
  overwrote: 0,
}

/** The columns of a state: the directory, how many writers may still die, and the writers. */
const firstWriter = 2

/** Numbers of moves: a call of the writer in that column, or its death. */
const dies = 100

interface Edge {
  writer: number
  directory: number
  violation: string | undefined
}

function writersModel(options: Exploration): Model {
  const { writers: count, swaps, crashes = 0, unreduced = false, mutation } = options
  const directories = new Numbered<Directory>()
  const writers = new Numbered<Writer>()
  const directoryNumber = (directory: Directory): number =>
    directories.numberOf(JSON.stringify(directory), directory)
  const writerNumber = (writer: Writer): number => {
    // A writer at its end needs no memory; a dead one is equal to it.
    const { name, index, done } = writer
    const kept =
      done === swaps * 2 ? { ...idle, name, index, done } : unreduced ? writer : reduced(writer, options)
    return writers.numberOf(JSON.stringify(kept), kept)
  }
  const atItsEnd = (writer: number): number => writerNumber({ ...writers.valueOf(writer), done: swaps * 2 })

  // The next call of a writer depends only on the writer and the directory: each pair is computed once.
  const edges = new Map<number, Edge>()
  async function edgeOf(writer: number, directory: number): Promise<Edge> {
    const key = writer * 2 ** 24 + directory
    const known = edges.get(key)
    if (known !== undefined) return known
    const after = await advance(writers.valueOf(writer), directories.valueOf(directory), options)
    const edge = {
      writer: writerNumber(after.writer),
      directory: directoryNumber(after.directory),
      violation: after.violation,
    }
    edges.set(key, edge)
    return edge
  }

  const isTold = mutation === 'a first epoch from the clock'
  const start = [
    directoryNumber(emptyDirectory),
    crashes,
    ...Array.from({ length: count }, (_, place) =>
      writerNumber({
        ...idle,
        name: unreduced ? String.fromCharCode(65 + place) : '',
        index: isTold ? place : 0,
      }),
    ),
  ]
  const next = new Uint32Array(start.length)
  const ends: number[] = []
  const endOf = (writer: number): number => (ends[writer] ??= atItsEnd(writer))

  async function moves(state: Row, found: Found): Promise<void> {
    const [directory = 0, crashesLeft = 0] = state
    for (let column = firstWriter; column < state.length; column++) {
      const writer = state[column] ?? 0
      if (writer === endOf(writer)) continue
      const edge = edges.get(writer * 2 ** 24 + directory) ?? (await edgeOf(writer, directory))
      next.set(state)
      next[0] = edge.directory
      next[column] = edge.writer
      found(unreduced ? next : sortWriters(next), column, edge.violation)
      if (crashesLeft === 0) continue
      next.set(state)
      next[1] = crashesLeft - 1
      next[column] = endOf(writer)
      found(unreduced ? next : sortWriters(next), dies + column)
    }
  }

  async function describe(state: Row, move: number): Promise<string> {
    const writer = writers.valueOf(state[move % dies] ?? 0)
    const what = isSwapping(writer) ? `swap of ${writer.held.epoch}` : 'read'
    const who = `${writer.name || 'a writer'}, ${what} (${writer.done >> 1})`
    if (move >= dies) return `${who}: dies`
    const { call, answer, result } = await advance(writer, directories.valueOf(state[0] ?? 0), options)
    const end = result === undefined ? '' : ` ⇒ ${JSON.stringify(result)}`
    return `${who}: ${call.call} ${call.name} → ${JSON.stringify(answer)}${end}`
  }

  const classes = new Numbered<string>()
  const classNumber = (value: unknown): number => {
    const key = nameless(JSON.stringify(value))
    return classes.numberOf(key, key)
  }
  function classOf(state: Row): Row {
    next.set(state)
    next[0] = classNumber(directories.valueOf(state[0] ?? 0))
    for (let column = firstWriter; column < state.length; column++)
      next[column] = classNumber(reduced(writers.valueOf(state[column] ?? 0), options))
    return sortWriters(next)
  }

  return { start, moves, describe, classOf: unreduced ? classOf : undefined }
}

const isSwapping = ({ done }: Writer): boolean => done % 2 === 1

interface Advance {
  writer: Writer
  directory: Directory
  /** A result that must never occur. */
  violation: string | undefined
  call: Call
  answer: Answer
  /** The result of the operation, if this call was its last. */
  result?: unknown
}

/** Carries out the next call of one writer. */
async function advance(before: Writer, directory: Directory, options: Exploration): Promise<Advance> {
  const position = await positionOf(before, options)
  if (!('next' in position)) throw new Error('an operation without a call')
  const call = position.next
  const { answer, after, onTop } = perform(call, directory)
  const isFirst = before.answers.length === before.forgotten
  const writer: Writer = {
    ...before,
    answers: [...before.answers, { to: call.call, ...answer }],
    topAtStart: isFirst && !isSwapping(before) ? directory.top : before.topAtStart,
    onTop: before.onTop || onTop,
    overwrote: onTop ? unread(before, directory) : before.overwrote,
  }
  const made = { directory: after, call, answer }
  const lost = isLossAllowed(options) ? undefined : lossIn(after)
  const then = await positionOf(writer, options)
  if ('next' in then)
    return { ...made, writer: startsOver(writer, then.next) ? forget(writer) : writer, violation: lost }
  const { result } = then
  return {
    ...made,
    result,
    writer: settled(writer, result, options),
    violation: lost ?? (isSwapping(before) ? judgeSwap(writer, result) : judgeRead(writer, result, options)),
  }
}

/** A clock answers at once: the register's result does not depend on the time. */
const perform = (call: Call, directory: Directory): Effect =>
  call.call === 'now'
    ? { answer: { value: undefined }, after: directory, onTop: false }
    : carryOut(call, directory)

const positionOf = (writer: Writer, options: Exploration): Promise<Position<unknown>> =>
  replay((files) => operation(writer, mutated(files, isSwapping(writer), options.mutation)), writer.answers)

function operation({ name, done, held }: Writer, files: RegisterFiles): Promise<unknown> {
  const register = fileRegister('/locks', files)
  return done % 2 === 1
    ? register.swap('key', held.epoch, `text${name && name + done}`)
    : register.read('key')
}

function settled(writer: Writer, result: unknown, { mutation }: Exploration): Writer {
  const { name, index, done } = writer
  const next = { ...idle, name, index, done: done + 1 }
  if (isSwapping(writer)) return next
  const { epoch, text } = result as RegisterEntry
  const isStart = epoch === 0 && mutation === 'a first epoch from the clock'
  return { ...next, held: { epoch: isStart ? 10 + index : epoch, text } }
}

/** The current epoch, if the writer has not read it; else 0. */
function unread({ held }: Writer, directory: Directory): number {
  const [current] = currentOf(directory)
  return current === held.epoch || (current === 0 && held.text === undefined) ? 0 : current
}

/** Whether a read starts over: it lists, and not to confirm what it has just read. */
function startsOver(writer: Writer, { call }: Call): boolean {
  const [listed, read] = writer.answers.slice(-2)
  const confirms = listed?.to === 'list' && read?.to === 'read' && 'value' in read && read.value !== undefined
  return !isSwapping(writer) && call === 'list' && !confirms
}

const forget = (writer: Writer): Writer => ({ ...writer, forgotten: writer.answers.length, topAtStart: 0 })

/** This mutation loses epochs by intention: the explorer must find the two winners that follow from it. */
const isLossAllowed = ({ mutation }: Exploration): boolean => mutation === 'the top epoch is deleted'

/** Epochs only grow, so an acknowledged swap is never lost. */
function lossIn(directory: Directory): string | undefined {
  const [current] = currentOf(directory)
  return current < directory.top ? `epoch ${directory.top} is lost` : undefined
}

function judgeSwap({ held, onTop, overwrote }: Writer, result: unknown): string | undefined {
  if (result !== true) return undefined
  if (!onTop) return `a swap was won with epoch ${held.epoch + 1}, which was not on top`
  return overwrote === 0 ? undefined : `a swap of ${held.epoch} was won, and had replaced ${overwrote} unread`
}

/** Every epoch has one text that was current, so this shows that the result was on top during the call. */
function judgeRead({ topAtStart }: Writer, result: unknown, options: Exploration): string | undefined {
  const { epoch, text } = result as RegisterEntry
  if (epoch < topAtStart && !isLossAllowed(options))
    return `a read returned epoch ${epoch}, but ${topAtStart} was there before it began`
  return isStray(text) ? `a read returned ${text}, which was never current as epoch ${epoch}` : undefined
}

/**
 * A writer without what does not affect its further calls:
 * - the answers from before a read started over;
 * - all but the highest epoch of a listing in a read;
 * - the epochs of a listing in a swap that it has removed since, and the answers to those calls.
 * An unreduced exploration proves it: its states fall into exactly as many classes as the reduced one has
 * states.
 */
function reduced(writer: Writer, { mutation }: Exploration): Writer {
  const answers = writer.answers.slice(writer.forgotten)
  if (!isSwapping(writer)) return { ...writer, forgotten: 0, answers: answers.map(highestOnly) }
  // A broken swap makes other calls, in another order.
  if (mutation !== undefined) return writer
  const at = answers.findIndex(({ to }) => to === 'list')
  const listed = answers[at]
  if (listed === undefined || !('value' in listed)) return writer
  const names = (listed.value as string[]).toSorted((a, b) => Number(a) - Number(b))
  const removed = answers.length - at - 1
  const rest = { to: listed.to, value: names.slice(removed) }
  return { ...writer, answers: [...answers.slice(0, at), rest] }
}

const highestOnly = (answer: Answered): Answered =>
  answer.to === 'list' && 'value' in answer
    ? { to: 'list', value: [String(Math.max(0, ...(answer.value as string[]).map(Number)))] }
    : answer

/** Without the names of writers. */
const nameless = (key: string): string => key.replaceAll(/text[A-Z]\d+/g, 'text').replaceAll(/"[A-Z]"/g, '""')

/** An insertion sort: there are three or four writers. */
function sortWriters(row: Row): Row {
  for (let end = firstWriter + 1; end < row.length; end++) {
    for (let at = end; at > firstWriter; at--) {
      const [before = 0, here = 0] = [row[at - 1], row[at]]
      if (before <= here) break
      row[at - 1] = here
      row[at] = before
    }
  }
  return row
}
