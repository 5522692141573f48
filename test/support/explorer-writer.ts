import { fileRegister } from '../../src/lease/file-register.ts'
import type { FileStep } from '../../src/lease/file-register.ts'
import type { RegisterEntry, Steps } from '../../src/lease/register.ts'
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
 * One who reads and swaps, again and again. Its place in the driver's code is given by the answers that its operation has got so far: the
 * generator is made anew and fed with them.
 */
export interface Writer {
  name: string
  /** Operations done: even numbers are reads, odd ones swaps. */
  done: number
  /** The epoch the last read returned: what a swap expects. */
  held: number
  answers: readonly Answered[]
  /** How many of the answers no longer matter, since the driver has begun anew. */
  forgotten: number
  /** The top when a read began, or began anew. */
  topAtStart: number
  /** Was what a swap created on top? */
  onTop: boolean
  /** What its last operation has shown, if it remembers that. */
  known: RegisterEntry | undefined
}

type Answered = Answer & { to: FileStep['call'] }

export const idle: Writer = {
  name: '',
  done: 0,
  held: 0,
  answers: [],
  forgotten: 0,
  topAtStart: 0,
  onTop: false,
  known: undefined,
}

export const isSwapping = ({ done }: Writer): boolean => done % 2 === 1

/** Stands before a text that was not on top when it was created: it was never the truth. The driver does not look into texts. */
const stray = 'stray '
export const isStray = (text: string | undefined): boolean => text?.startsWith(stray) === true

export interface Advance {
  writer: Writer
  directory: Directory
  /** What must never happen. */
  violation: string | undefined
  step: FileStep
  answer: Answer
  result: unknown
}

/** One more step of one writer. */
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
  }
  at = resume(steps, answer)
  const made = { directory: after, step, answer, result: at.value }
  const broken = compactsTooMuch(step, directory)
  if (!at.done) return { ...made, writer: beginsAnew(now, at.value) ? forget(now) : now, violation: broken }
  const held = isSwapping(before) ? wonWith(at.value, text) : (at.value as RegisterEntry)
  const writer = {
    ...idle,
    name: before.name,
    done: before.done + 1,
    held: isSwapping(before) ? 0 : (held?.epoch ?? 0),
    known: options.remembers ? (held ?? before.known) : undefined,
  }
  return { ...made, writer, violation: broken ?? judge(now, held) }
}

function operation(writer: Writer, text: string, { keptEpochs }: Exploration): Steps<FileStep, unknown> {
  const register = fileRegister('/locks', keptEpochs)
  return isSwapping(writer) ? register.swap('key', writer.held, text) : register.read('key', writer.known)
}

const wonWith = (epoch: unknown, text: string): RegisterEntry | undefined =>
  typeof epoch === 'number' ? { epoch, text } : undefined

function perform(step: FileStep, directory: Directory, writer: Writer, options: Exploration): Effect {
  const effect = carryOut(step, directory)
  const isStray = step.call === 'symlink' && !effect.onTop && options.mutation !== 'one text for all'
  if (isStray) return carryOut({ ...step, text: stray + step.text }, directory)
  const missing = step.call === 'list' ? missingListing(writer, options) : undefined
  if (missing !== undefined) return { ...effect, answer: { value: missing } }
  const isBlind = step.call === 'exists' && options.mutation === 'no look for a successor'
  return isBlind ? { ...effect, answer: { value: false } } : effect
}

/** A listing that is not made is one that shows what the writer knows already. */
function missingListing(writer: Writer, { mutation }: Exploration): unknown {
  if (isSwapping(writer))
    return mutation === 'no listing after the create' ? [String(writer.held + 1)] : undefined
  const [listed] = writer.answers.slice(-2)
  const missing = mutation === 'no listing after the read' && confirms(writer)
  return missing && listed !== undefined && 'value' in listed ? listed.value : undefined
}

/** A read that lists for another reason than to confirm what it has just read is a read from the start. */
const beginsAnew = (writer: Writer, { call }: FileStep): boolean =>
  !isSwapping(writer) && call === 'list' && !confirms(writer)

const confirms = ({ answers }: Writer): boolean => {
  const [listed, read] = answers.slice(-2)
  return listed?.to === 'list' && read?.to === 'readlink' && 'value' in read
}

const forget = (writer: Writer): Writer => ({ ...writer, forgotten: writer.answers.length, topAtStart: 0 })

/** The top stays, and the others go in order: a read may rely on it. */
function compactsTooMuch(step: FileStep, directory: Directory): string | undefined {
  if (step.call !== 'unlink' || mayVanish(directory, nameOf(step.path))) return undefined
  return `${step.path} was compacted too early`
}

export const mayVanish = ({ files, top }: Directory, name: string): boolean =>
  epochOf(name) < top && files.every(([other, text]) => epochOf(other) >= epochOf(name) || isStray(text))

/** What must be true of a result. */
function judge(writer: Writer, held: RegisterEntry | undefined): string | undefined {
  if (held === undefined) return undefined
  const { epoch, text } = held
  if (isSwapping(writer))
    return writer.onTop ? undefined : `a swap was won with epoch ${epoch}, which was not on top`
  if (epoch < writer.topAtStart)
    return `a read returned epoch ${epoch}, but ${writer.topAtStart} was there before it began`
  return isStray(text) ? `a read returned ${text}, which was never the truth of epoch ${epoch}` : undefined
}

/**
 * All that tells one writer from another, as text. Reduced, it leaves out what makes no difference to what the driver does next:
 * - answers from before it began anew, and what it remembered then: that is where a read that remembers nothing begins;
 * - of a listing in a read, all but the top;
 * - of a listing in a swap, what it has compacted since, and what came of that.
 * That it makes none is seen where the states of an unreduced exploration fall into exactly as many classes as the reduced one has states.
 */
export function keyOf(writer: Writer, reduced: boolean): string {
  if (!reduced) return JSON.stringify(writer)
  const { name, done, held, answers, forgotten, topAtStart, onTop } = writer
  const known = forgotten > 0 ? undefined : writer.known
  const compacted = answers.filter(({ to }) => to === 'unlink').length
  const relevant = answers.slice(forgotten).flatMap((answer): unknown[] => {
    if (answer.to === 'unlink') return []
    if (answer.to !== 'list' || !('value' in answer)) return [answer]
    const names = answer.value as string[]
    return [isSwapping(writer) ? names.slice(compacted) : topOf(names)]
  })
  return JSON.stringify([name, done, held, relevant, topAtStart, onTop, known])
}
