import type { FileStep } from '../../src/lease/file-register.ts'
import { sweptUntilKey } from '../../src/lease/stored-claims.ts'
import type { Steps } from '../../src/lease/register.ts'

/** The directory of one key, in memory: every call is atomic, as on a local file system. */
export interface Directory {
  isThere: boolean
  files: readonly File[]
  /** The highest epoch that ever existed. */
  top: number
  /** The highest epoch that was on top when a sweep removed it. */
  swept: number
}

type File = readonly [name: string, text: string]

export type Answer = { value: unknown } | { error: string }

export interface Effect {
  answer: Answer
  after: Directory
  /** Whether the call created an epoch above all earlier ones, which makes it the current one. */
  onTop: boolean
}

export const emptyDirectory: Directory = { isThere: false, files: [], top: 0, swept: 0 }

export const nameOf = (path: string): string => path.slice(path.lastIndexOf('/') + 1)

export function carryOut(step: FileStep, directory: Directory): Effect {
  if (!('path' in step)) throw new Error(`unexpected step ${step.call}`)
  const name = nameOf(step.path)
  const { isThere, files } = directory
  const there = files.find((file) => file[0] === name)
  const gives = (value: unknown, after = directory): Effect => ({ answer: { value }, after, onTop: false })
  const fails = (error: string): Effect => ({ answer: { error }, after: directory, onTop: false })
  const creates = (name: string, text: string): Effect => ({
    ...create(directory, name, text),
    answer: { value: null },
  })
  switch (step.call) {
    case 'list':
      // The only other directory has the time of the last sweep: see `readSweptUntil`.
      return isThere && name !== sweptUntilKey ? gives(files.map((file) => file[0])) : fails('ENOENT')
    case 'exists':
    case 'isDirectory':
      return gives(there !== undefined)
    case 'readlink':
      return there === undefined ? fails('ENOENT') : gives(there[1])
    case 'readText':
      return gives(there?.[1])
    case 'unlink':
      return there === undefined ? fails('ENOENT') : gives(null, without(directory, name))
    case 'mkdir':
      return gives(null, { ...directory, isThere: true })
    case 'rmdir':
      if (!isThere) return fails('ENOENT')
      return files.length > 0 ? fails('ENOTEMPTY') : gives(true, { ...directory, isThere: false })
    case 'makeKey':
      return files.length > 0 ? fails('ENOTEMPTY') : creates(String(step.epoch), step.text)
    case 'symlink':
    case 'write':
      if (!isThere) return fails('ENOENT')
      return there === undefined ? creates(name, step.text) : fails('EEXIST')
    default:
      throw new Error(`unexpected step ${step.call}`)
  }
}

function create(directory: Directory, name: string, text: string): Omit<Effect, 'answer'> {
  const { files, top } = directory
  const epoch = epochOf(name)
  const after = [...files, [name, text] as const].sort(
    ([a], [b]) => epochOf(a) - epochOf(b) || (a < b ? -1 : 1),
  )
  return {
    after: { ...directory, isThere: true, files: after, top: Math.max(top, epoch) },
    onTop: epoch > top,
  }
}

export const without = (directory: Directory, name: string): Directory => ({
  ...directory,
  files: directory.files.filter((file) => file[0] !== name),
})

/** The number of an epoch's name; 0 for any other name. */
export const epochOf = (name: string): number => (/^\d+$/.test(name) ? Number(name) : 0)

/** The highest epoch of a listing. */
export const topOf = (names: readonly unknown[]): number =>
  Math.max(0, ...names.map((name) => epochOf(String(name))))

/** Passes the answer to a generator; returns its next step or its result. */
export function resume<Step, Result>(
  steps: Steps<Step, Result>,
  answer: Answer,
): IteratorResult<Step, Result> {
  if ('value' in answer) return steps.next(answer.value)
  return steps.throw(Object.assign(new Error(answer.error), { code: answer.error }))
}
