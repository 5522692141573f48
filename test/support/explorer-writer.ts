import { fileRegister } from '../../src/lease/file-register.ts'
import type { FileStep } from '../../src/lease/file-register.ts'
import type { Register, RegisterEntry, Steps } from '../../src/lease/register.ts'
import {
  type Answer,
  carryOut,
  type Directory,
  type Effect,
  epochOf,
  nameOf,
  resume,
  topOf,
} from './explorer-directory.ts'
import type { Exploration } from './explorer-options.ts'

/**
 * A writer that reads and swaps repeatedly. The answers to its operation so far give its position in the
 * driver's code: a new generator is fed with them.
 */
export interface Writer {
  name: string
  /** Takes other numbers than the others for the start of a key. */
  index: number
  /** Whether it sweeps: instead of a swap it removes what it has read. */
  isSweeper: boolean
  /** Operations done: even ones are reads, odd ones swaps. */
  done: number
  /** The epoch that the last read returned, which a swap replaces; without a text, where the key starts. */
  held: number
  heldText: string | undefined
  answers: readonly Answered[]
  /** How many of the answers no longer matter, as the driver has started over. */
  forgotten: number
  /** The highest epoch when a read began or started over. */
  topAtStart: number
  /** Whether the epoch that a swap created was on top. */
  onTop: boolean
  /** The epoch that was current when a swap created one above it, if the writer had not read that. */
  overwrote: number
  /** The result of its last operation, if it remembers that. */
  known: RegisterEntry | undefined
  /** The epoch that it won last, if it remembers and has read no other since; else 0. */
  won: number
}

type Answered = Answer & { to: FileStep['call'] }

export const idle: Writer = {
  name: '',
  index: 0,
  isSweeper: false,
  done: 0,
  held: 0,
  heldText: undefined,
  answers: [],
  forgotten: 0,
  topAtStart: 0,
  onTop: false,
  overwrote: 0,
  known: undefined,
  won: 0,
}

export const isSwapping = ({ done }: Writer): boolean => done % 2 === 1

/** Marks a text that was not on top when it was created, so was never current. The driver ignores content. */
const stray = 'stray '
export const isStray = (text: string | undefined): boolean => text?.startsWith(stray) === true

export interface Advance {
  writer: Writer
  directory: Directory
  /** A result that must never occur. */
  violation: string | undefined
  step: FileStep
  answer: Answer
  result: unknown
}

/** Performs the next step of one writer. */
export function advance(before: Writer, directory: Directory, options: Exploration): Advance {
  const text = `text${before.name && before.name + before.done}`
  const steps = operation(before, text, options)
  let at = steps.next()
  for (const answer of before.answers) at = resume(steps, answer)
  if (at.done) throw new Error('an operation without steps')
  const step = at.value
  const { answer, after, onTop } = perform(step, directory, before, options)
  const now: Writer = {
    ...before,
    answers: [...before.answers, { to: step.call, ...answer }],
    topAtStart: before.answers.length === before.forgotten ? directory.top : before.topAtStart,
    onTop: before.onTop || onTop,
    overwrote: onTop ? overwritten(before, directory) : before.overwrote,
  }
  at = resume(steps, answer)
  const made = { directory: after, step, answer, result: at.value }
  const broken = compactsTooMuch(step, directory, before)
  if (!at.done) return { ...made, writer: startsOver(now, at.value) ? forget(now) : now, violation: broken }
  const held = isSwapping(before) ? wonWith(at.value, text) : (at.value as RegisterEntry)
  const { name, index, isSweeper } = before
  const read = isSwapping(before) ? undefined : held
  const writer = {
    ...idle,
    name,
    index,
    isSweeper,
    done: before.done + 1,
    held: read?.text === undefined && !isSweeper ? startOf(before, after, options) : (read?.epoch ?? 0),
    heldText: read?.text,
    known: options.remembers ? (held ?? before.known) : undefined,
    won: options.remembers ? wonAfter(now, held) : 0,
  }
  return { ...made, writer, violation: broken ?? judge(now, held, after) }
}

/** The epoch that a writer won last, after an operation with this result. */
function wonAfter(writer: Writer, result: RegisterEntry | undefined): number {
  const { epoch = 0 } = result ?? {}
  return isSwapping(writer) || epoch === writer.won ? epoch : 0
}

/** Where a writer starts a key: at 0 if nothing is swept, else above all that was, at its own number. */
const startOf = (writer: Writer, { top }: Directory, { sweepers = 0 }: Exploration): number =>
  sweepers === 0 || isSwapping(writer) ? 0 : top + 1 + writer.index

/** The current epoch, if a writer has not read it; 0 if it has, or if a sweep has removed that. */
function overwritten({ held, heldText }: Writer, { files }: Directory): number {
  const current = topOf(files.map(([name]) => name))
  return current === held && heldText !== undefined ? 0 : current
}

function operation(writer: Writer, text: string, { keptEpochs }: Exploration): Steps<FileStep, unknown> {
  const register = fileRegister('/locks', keptEpochs)
  const before = { epoch: writer.held, text: writer.heldText }
  if (isSwapping(writer) && writer.won > 0) letWin(register, writer.won)
  if (isSwapping(writer) && writer.isSweeper && register.remove !== undefined)
    return register.remove('key', before)
  return isSwapping(writer) ? register.swap('key', before, text) : register.read('key', writer.known)
}

/** Lets a register win an epoch, after which it remembers that nothing is left to compact. */
function letWin(register: Register<FileStep>, epoch: number): void {
  const steps = register.swap('key', { epoch: epoch - 1, text: 'before' }, 'after')
  const answers = { readlink: 'before', exists: false, list: [String(epoch)] } as Record<string, unknown>
  for (let at = steps.next(); !at.done; at = steps.next(answers[at.value.call]));
}

const wonWith = (epoch: unknown, text: string): RegisterEntry | undefined =>
  typeof epoch === 'number' ? { epoch, text } : undefined

function perform(step: FileStep, directory: Directory, writer: Writer, options: Exploration): Effect {
  const effect = carryOutMutated(step, directory, options)
  if (step.call === 'unlink' && writer.isSweeper)
    return { ...effect, after: sweep(effect.after, directory, step) }
  const isStray = step.call === 'symlink' && !effect.onTop && options.mutation !== 'one text for all'
  if (isStray) return carryOut({ ...step, text: stray + step.text }, directory)
  const missing = step.call === 'list' ? missingListing(writer, options) : undefined
  if (missing !== undefined) return { ...effect, answer: { value: missing } }
  if (isSwapping(writer) && step.call === 'readlink' && options.mutation === 'no look at the epoch before')
    return { ...effect, answer: { value: writer.heldText } }
  const blind = isSwapping(writer) ? 'no look below the oldest epoch' : 'no look for a successor'
  const isBlind = step.call === 'exists' && options.mutation === blind
  return isBlind ? { ...effect, answer: { value: false } } : effect
}

/** Carries out a step, or what a driver does instead that creates the first epoch like any other. */
function carryOutMutated(step: FileStep, directory: Directory, { mutation }: Exploration): Effect {
  if (step.call !== 'makeKey' || mutation !== 'a first epoch by name only') return carryOut(step, directory)
  const link = { call: 'symlink', path: `${step.path}/${step.epoch}`, text: step.text } as const
  return carryOut(link, { ...directory, isThere: true })
}

/** Remembers that a sweep has removed the current epoch. */
const sweep = (after: Directory, before: Directory, { path }: { path: string }): Directory => {
  const epoch = epochOf(nameOf(path))
  const isCurrent = epoch === topOf(before.files.map(([name]) => name))
  return isCurrent ? { ...after, swept: Math.max(after.swept, epoch) } : after
}

/** Replaces a listing by what the writer knows already, as if it were not made. */
function missingListing(writer: Writer, { mutation }: Exploration): unknown {
  if (isSwapping(writer))
    return mutation === 'no listing after the create' ? [String(writer.held + 1)] : undefined
  const [listed] = writer.answers.slice(-2)
  const missing = mutation === 'no listing after the read' && confirms(writer)
  return missing && listed !== undefined && 'value' in listed ? listed.value : undefined
}

/** Whether a read starts over: it lists, and not to confirm what it has just read. */
const startsOver = (writer: Writer, { call }: FileStep): boolean =>
  !isSwapping(writer) && call === 'list' && !confirms(writer)

const confirms = ({ answers }: Writer): boolean => {
  const [listed, read] = answers.slice(-2)
  return listed?.to === 'list' && read?.to === 'readlink' && 'value' in read
}

const forget = (writer: Writer): Writer => ({ ...writer, forgotten: writer.answers.length, topAtStart: 0 })

/** The highest epoch stays and the others are deleted in order: reads rely on both. */
function compactsTooMuch(step: FileStep, directory: Directory, writer: Writer): string | undefined {
  if (step.call !== 'unlink' || mayVanish(directory, nameOf(step.path))) return undefined
  // A sweep removes what it has read, even if another epoch was written since.
  if (writer.isSweeper && epochOf(nameOf(step.path)) === writer.held) return undefined
  return `${step.path} was compacted too early`
}

export const mayVanish = ({ files, top }: Directory, name: string): boolean =>
  epochOf(name) < top && files.every(([other, text]) => epochOf(other) >= epochOf(name) || isStray(text))

/** Checks the result of an operation. */
function judge(writer: Writer, held: RegisterEntry | undefined, { swept }: Directory): string | undefined {
  if (held === undefined) return undefined
  const { epoch, text } = held
  if (isSwapping(writer)) {
    if (!writer.onTop) return `a swap was won with epoch ${epoch}, which was not on top`
    const { held, overwrote } = writer
    return overwrote === 0 ? undefined : `a swap from ${held} was won, and had replaced ${overwrote} unread`
  }
  if (epoch === 0 && swept >= writer.topAtStart) return undefined
  if (epoch < writer.topAtStart)
    return `a read returned epoch ${epoch}, but ${writer.topAtStart} was there before it began`
  return isStray(text) ? `a read returned ${text}, which was never current as epoch ${epoch}` : undefined
}

/**
 * The state of a writer as a string. Reduced, it leaves out what does not affect the driver's further steps:
 * - answers from before it started over, and the entry it knew: it is where a read without one begins;
 * - all but the highest epoch of a listing in a read;
 * - the epochs of a listing in a swap that were compacted since, and the answers to those calls.
 * An unreduced exploration proves it: its states fall into exactly as many classes as the reduced one has
 * states.
 */
export function keyOf(writer: Writer, reduced: boolean): string {
  if (!reduced) return JSON.stringify(writer)
  const { name, done, held, answers, forgotten, topAtStart, onTop } = writer
  const who = [name, writer.index, writer.isSweeper, writer.heldText, writer.overwrote]
  const known = forgotten > 0 ? undefined : writer.known
  const compacted = answers.filter(({ to }) => to === 'unlink').length
  const relevant = answers.slice(forgotten).flatMap((answer): unknown[] => {
    if (answer.to === 'unlink') return []
    if (answer.to !== 'list' || !('value' in answer)) return [answer]
    const names = answer.value as string[]
    return [isSwapping(writer) ? names.slice(compacted) : topOf(names)]
  })
  return JSON.stringify([who, done, held, relevant, topAtStart, onTop, known, writer.won])
}
