import { closeSync, fstatSync, lstatSync, renameSync, unlinkSync, writeSync } from 'node:fs'
import { explained } from '../errors/if-possible.ts'
import { codedError } from '../errors/stint-error.ts'
import { systemClock } from '../process/clock.ts'
import { openPrivateFile } from './private-file.ts'
import { readLastLines } from './regular-file.ts'

/** A full log is renamed to this name, and replaces the one before it. */
const olderOf = (path: string): string => `${path}.1`

/** A process that was killed while it rotated leaves its lock; it counts no more after this time. */
const rotationMs = 10_000

/**
 * Appends lines to a log that other processes append to as well, in one write, so that none is torn. A file
 * of `maxBytes` is renamed, and a new one begun: the two have at least the last `maxBytes` that were written,
 * and at most about twice as many. Throws if it cannot write; a link or another kind of file is left alone.
 */
export function appendBoundedLog(path: string, lines: string, maxBytes: number): void {
  if (appendBelow(path, lines, maxBytes)) return
  rotate(path, maxBytes)
  // Another process rotates, or a directory is in the way: append all the same, up to twice the size.
  appendBelow(path, lines, 2 * maxBytes)
}

/** False if the file has `maxBytes` already. */
function appendBelow(path: string, lines: string, maxBytes: number): boolean {
  const fd = openPrivateFile(path, 'a')
  try {
    const stat = fstatSync(fd)
    if (stat.size >= maxBytes) return false
    if (stat.isFile()) writeSync(fd, lines)
    return true
  } finally {
    closeSync(fd)
  }
}

/** One process renames at a time: a second rename would replace the full file by the new, empty one. */
function rotate(path: string, maxBytes: number): void {
  const lock = `${path}.lock`
  try {
    closeSync(openPrivateFile(lock, 'wx'))
  } catch {
    const since = lstatSync(lock, { throwIfNoEntry: false })?.mtimeMs ?? 0
    if (since > 0 && Math.abs(Date.now() - since) > rotationMs) unlinkSync(lock)
    return
  }
  try {
    if ((lstatSync(path, { throwIfNoEntry: false })?.size ?? 0) >= maxBytes) renameSync(path, olderOf(path))
  } catch {
    // A directory has the name of the older file.
  } finally {
    unlinkSync(lock)
  }
}

/**
 * The complete lines of both files, oldest first; throws if one cannot be read. With `lastBytes`, only those
 * at the end of the newer: a look that does without if it cannot read them.
 */
export function readBoundedLog(path: string, maxBytes: number, lastBytes?: number): string[] {
  if (lastBytes !== undefined) return readLastLines(path, lastBytes)
  return explained(
    (error) => codedError(error, `read ${path}`),
    () => [olderOf(path), path].flatMap((file) => readLastLines(file, 2 * maxBytes, 'throwOnError')),
  )
}

/** A process writes to a log at most once in this time; the lines in between come with its next write. */
const gatherMs = 250

/** How many appends of a process wait for that: of more, the oldest are lost. */
const maxGathered = 16

/** The logs of this process that have something to write when it exits. */
let unwritten: Set<GatheredLog> | undefined

/** Makes lines when they are written, which may be never. */
type Lines = () => readonly string[]

/**
 * A bounded log for a process that may append thousands of lines a second, which would cost more than what
 * they report. Appending never throws: a log is worth no failure.
 */
export class GatheredLog {
  readonly #path: string
  readonly #maxBytes: number
  #waiting: Lines[] = []
  #writtenAtMs = Number.NEGATIVE_INFINITY
  #timer: NodeJS.Timeout | undefined

  constructor(path: string, maxBytes: number) {
    this.#path = path
    this.#maxBytes = maxBytes
  }

  append(lines: Lines): void {
    this.#waiting.push(lines)
    if (this.#waiting.length > maxGathered) this.#waiting.shift()
    if (this.#timer !== undefined) return
    const waitMs = this.#writtenAtMs + gatherMs - systemClock.mono()
    if (waitMs <= 0) return this.#write()
    this.#timer = setTimeout(() => this.#write(), waitMs).unref()
    if (unwritten === undefined) process.once('exit', () => unwritten?.forEach((log) => log.#write()))
    unwritten ??= new Set()
    unwritten.add(this)
  }

  #write(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    unwritten?.delete(this)
    const lines = this.#waiting.flatMap((make) => make())
    this.#waiting = []
    if (lines.length === 0) return
    this.#writtenAtMs = systemClock.mono()
    try {
      appendBoundedLog(this.#path, `${lines.join('\n')}\n`, this.#maxBytes)
    } catch {
      // The disk is full or the home is read-only, and the work goes on without a log.
    }
  }

  /** The lines of both files and those that wait; with `lastBytes`, only the last of them. */
  read(lastBytes?: number): string[] {
    return [
      ...readBoundedLog(this.#path, this.#maxBytes, lastBytes),
      ...this.#waiting.flatMap((make) => make()),
    ]
  }
}
