import { type Directory, emptyDirectory, epochOf, without } from './explorer-directory.ts'
import type { Exploration } from './explorer-options.ts'
import { type Explored, type Found, type Model, Numbered, type Row, search } from './explorer-search.ts'
import { type Advance, advance, idle, isSwapping, keyOf, mayVanish, type Writer } from './explorer-writer.ts'

/**
 * Runs the shipped file driver over a directory in memory, in every possible order of steps: several writers
 * read and swap a few times each, any may die at any point, and old epochs may be compacted at any point.
 * Every state is visited once.
 */
export const explore = (options: Exploration): Explored => search(writersModel(options))

/** The columns of a state: the directory, how many writers may still die, and the writers. */
const firstWriter = 2

/** Numbers of moves: a step of the writer in that column, its death, or a compaction. */
const dies = 100
const compacts = 200

function writersModel(options: Exploration): Model {
  const { writers: count, swaps, crashes = 0, unreduced = false, sweepers = 0, mutation } = options
  const directories = new Numbered<Directory>()
  const writers = new Numbered<Writer>()
  const directoryNumber = (directory: Directory): number =>
    directories.numberOf(JSON.stringify(directory), directory)
  const writerNumber = (writer: Writer): number => {
    const kept = writer.done === swaps * 2 ? finished(writer) : writer
    return writers.numberOf(keyOf(kept, !unreduced), kept)
  }
  // A finished writer needs no memory; a dead one is equal to it.
  const finished = ({ name, index, isSweeper }: Writer): Writer => ({
    ...idle,
    name,
    index,
    isSweeper,
    done: swaps * 2,
  })

  // The next step of a writer depends only on the writer and the directory: each pair is computed once.
  const advances = new Map<number, { writer: number; directory: number; violation: string | undefined }>()
  const advanced = (writer: number, directory: number) => {
    const key = writer * 2 ** 24 + directory
    let known = advances.get(key)
    if (known === undefined) {
      const made = advance(writers.valueOf(writer), directories.valueOf(directory), options)
      const { violation } = made
      known = { writer: writerNumber(made.writer), directory: directoryNumber(made.directory), violation }
      advances.set(key, known)
    }
    return known
  }

  const compactions: number[][] = []
  const compacted = (directory: number): number[] =>
    (compactions[directory] ??= vanishing(directories.valueOf(directory), options).map(directoryNumber))

  const finishes: number[] = []
  const finish = (writer: number): number =>
    (finishes[writer] ??= writerNumber(finished(writers.valueOf(writer))))

  const names = Array.from({ length: count }, (_, index) =>
    unreduced ? String.fromCharCode(65 + index) : '',
  )
  const start = [
    directoryNumber(emptyDirectory),
    crashes,
    ...names.map((name, index) => {
      const isSweeper = index < sweepers
      return writerNumber({ ...idle, name, isSweeper, index: sweepers === 0 ? 0 : index })
    }),
  ]
  const next = new Uint32Array(start.length)

  /**
   * A sweep removes only what has been there for so long that no process is still in the middle of an
   * operation that began before.
   */
  function isTooSoon(sweeper: Writer, state: Row): boolean {
    const { isSweeper, held, answers } = sweeper
    if (!isSweeper || !isSwapping(sweeper) || answers.length > 0) return false
    if (mutation === 'a process that sleeps through a sweep') return false
    return Array.from(state.subarray(firstWriter), (each) => writers.valueOf(each)).some((other) =>
      isSwapping(other)
        ? !other.isSweeper && (other.held !== held || other.heldText === undefined)
        : other.answers.length > 0 && other.topAtStart !== held,
    )
  }

  function moves(state: Row, found: Found): void {
    const [directory = 0, crashesLeft = 0] = state
    for (let column = firstWriter; column < state.length; column++) {
      const writer = state[column] ?? 0
      if (writer === finish(writer) || isTooSoon(writers.valueOf(writer), state)) continue
      const after = advanced(writer, directory)
      next.set(state)
      next[0] = after.directory
      next[column] = after.writer
      if (!unreduced) sortWriters(next)
      found(next, column, after.violation)
      if (crashesLeft === 0) continue
      next.set(state)
      next[1] = crashesLeft - 1
      next[column] = finish(writer)
      if (!unreduced) sortWriters(next)
      found(next, dies + column)
    }
    next.set(state)
    for (const [index, each] of compacted(directory).entries()) {
      next[0] = each
      found(next, compacts + index)
    }
  }

  function describe(state: Row, move: number): string {
    const directory = directories.valueOf(state[0] ?? 0)
    if (move >= compacts) {
      const left = vanishing(directory, options)[move - compacts]
      return `compaction leaves ${JSON.stringify(left?.files)}`
    }
    const writer = writers.valueOf(state[move % dies] ?? 0)
    const what = isSwapping(writer) ? `swap of ${writer.held}` : 'read'
    const who = `${writer.name || 'a writer'}, ${what} (${writer.done >> 1})`
    return move >= dies ? `${who}: dies` : `${who}: ${describeStep(advance(writer, directory, options))}`
  }

  const classes = new Numbered<string>()
  const classNumber = (key: string): number => classes.numberOf(nameless(key), key)
  const writerClasses: number[] = []
  const directoryClasses: number[] = []
  const classOf = (state: Row): Row => {
    const [directory = 0] = state
    next.set(state)
    next[0] = directoryClasses[directory] ??= classNumber(JSON.stringify(directories.valueOf(directory)))
    for (let column = firstWriter; column < state.length; column++) {
      const writer = state[column] ?? 0
      next[column] = writerClasses[writer] ??= classNumber(keyOf(writers.valueOf(writer), true))
    }
    return sortWriters(next)
  }

  return { start, moves, describe, classOf: unreduced ? classOf : undefined }
}

/** Without the names of writers. */
const nameless = (key: string): string => key.replaceAll(/text[A-Z]\d+/g, 'text').replaceAll(/"[A-Z]"/g, '""')

/** All directories that one compaction can leave. */
function vanishing(directory: Directory, { compactAnytime, mutation }: Exploration): Directory[] {
  if (!compactAnytime) return []
  return directory.files
    .map(([name]) => name)
    .filter((name) => {
      const isTop = epochOf(name) === directory.top
      if (isTop) return mutation === 'compaction of the top'
      return mutation === 'compaction out of order' || mayVanish(directory, name)
    })
    .map((name) => without(directory, name))
}

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

function describeStep({ step, answer, result }: Advance): string {
  const call = 'path' in step ? `${step.call} ${step.path.slice('/locks/key'.length)}` : step.call
  const isResult = typeof result !== 'object' || result === null || !('call' in result)
  return `${call} → ${JSON.stringify(answer)}${isResult ? ` ⇒ ${JSON.stringify(result ?? null)}` : ''}`
}
