import { readdirSync, renameSync, unlinkSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { errorCode } from '../../base/errors/stint-error.ts'
import { nodeDisk, readFile } from '../../base/fs/disk.ts'
import { ifExists, lstatIfExists } from '../../base/fs/exists.ts'
import { ensureOwnDirectory, ownDirectoryProblem } from '../../base/fs/own-directory.ts'
import { createPrivateFile } from '../../base/fs/private-file.ts'
import { thisMachine } from '../../base/process/platform.ts'
import { isSessionId } from '../../base/text/id.ts'
import { verifiedText, withChecksum } from '../log/line-checksum.ts'
import type { SessionSummary } from '../store.ts'

/** A hold of a session, as lists see it. */
export interface HoldMark {
  /** The directory of the session. */
  root: string
  /** In milliseconds; tells apart sessions that have had the same id. 0 if the manifest is unreadable. */
  createdAt: number
  /** 0 before the first hold. */
  holdEpoch: number
}

/** Marks a session as changed, before its lock is acquired. `previousEpoch` is that of the last hold. */
export function markHold(hold: HoldMark, previousEpoch?: number): void {
  const mark = markOf(hold)
  if (mark !== undefined)
    setMark(mark, previousEpoch === undefined ? undefined : markOf({ ...hold, holdEpoch: previousEpoch }))
}

/** Marks a session again if the cache was removed before the lock was acquired. */
export function confirmHold(hold: HoldMark): void {
  const mark = markOf(hold)
  if (mark !== undefined && lstatIfExists(mark) === undefined) setMark(mark)
}

/** Marks a session as changed because damage was noted outside of a hold. */
export function markDamage(hold: HoldMark): void {
  const mark = markOf(hold)
  if (mark !== undefined) setMark(`${mark}@damaged`)
}

/** Removes the mark of a session that is in the trash. */
export function forgetHold(hold: HoldMark): void {
  const mark = markOf(hold)
  if (mark !== undefined) unlinkQuietly(mark)
}

/** Removes the summaries of the last list. This works on a full disk, too. */
export const forgetSummaries = (sessions: string): void =>
  unlinkQuietly(join(cacheIn(sessions), summariesName))

const cacheIn = (sessions: string): string => join(sessions, '.cache')
const summariesName = 'summaries.json'

/** The path of a mark; undefined for a session that is being staged, which no list shows. */
function markOf({ root, createdAt, holdEpoch }: HoldMark): string | undefined {
  const id = basename(root)
  return isSessionId(id) ? join(cacheIn(dirname(root)), `${id}@${createdAt}@${holdEpoch}`) : undefined
}

function setMark(mark: string, previous?: string): void {
  const directory = dirname(mark)
  try {
    if (previous !== undefined && renameIfExists(previous, mark)) return
    if (ensureOwnDirectory(directory) === undefined) createPrivateFile(mark, '')
  } catch (error) {
    // Without the mark, lists would believe the summaries.
    if (errorCode(error) !== 'EEXIST') forgetSummaries(dirname(directory))
  }
}

/** Renames a file and returns true; false if the file does not exist. */
function renameIfExists(from: string, to: string): boolean {
  const renamed = ifExists(() => {
    renameSync(from, to)
    return true
  })
  return renamed ?? false
}

function unlinkQuietly(path: string): void {
  try {
    unlinkSync(path)
  } catch {
    // Missing, or the home is read-only: then no session can be opened either.
  }
}

/** A change this soon after another may leave the time of a directory as it is, in milliseconds. */
const coarsestTickMs = 2000

/**
 * A string that changes with every name in a directory of sessions and in its cache. Undefined if that cannot
 * be told: because of a change just now, or because the summaries are missing, which a process removes that
 * cannot set a mark.
 */
export function stampOfNames(sessions: string): string | undefined {
  const cache = cacheIn(sessions)
  let stamp = ''
  for (const path of [sessions, cache, join(cache, summariesName)]) {
    const stat = lstatIfExists(path)
    if (stat === undefined || Date.now() - stat.ctimeMs < coarsestTickMs) return undefined
    stamp += `${stat.dev} ${stat.ino} ${stat.ctimeMs} `
  }
  return stamp
}

/** A summary, and the marks of its session when it was read. */
type Row = [marks: string, summary: SessionSummary]

interface SummariesFile {
  version: 1
  boot: string
  rows: Row[]
}

/**
 * The cache of session lists, in `sessions/.cache/`: the summaries of the last list, and for each session a
 * mark, an empty file whose name tells which hold of the session was the last. A process renames the mark
 * before it takes the lock, so a session whose mark is still the same has not changed since the last list.
 * One directory listing shows the marks of all sessions.
 *
 * Nothing is synced. A power cut may undo the renaming of a mark, so the summaries of another boot are
 * ignored.
 */
export class ListCache {
  readonly #directory: string
  readonly #boot = thisMachine().boot
  /** By session: the names of its marks, without the id. */
  readonly #marks = new Map<string, string>()
  #rows: readonly Row[] = []
  /** The rows for the next list. */
  readonly #kept: Row[] = []
  #isChanged = false
  /** Whether the marks could be read. Without them, a session may change and show no mark. */
  #hasMarks = false

  constructor(sessions: string) {
    this.#directory = cacheIn(sessions)
    if (this.#boot === '') return
    try {
      const stat = lstatIfExists(this.#directory)
      if (stat === undefined || ownDirectoryProblem(stat) !== undefined) return
      // The marks first: a summary that is read after a mark cannot be older than the mark.
      this.#readMarks()
      this.#hasMarks = true
      this.#rows = this.#readRows()
    } catch {
      // A list without a cache is slow, and right.
    }
  }

  /** Returns the summaries of the sessions that have not changed, and removes these sessions from `ids`. */
  extractUnchanged(ids: Set<string>): SessionSummary[] {
    const summaries: SessionSummary[] = []
    for (const row of this.#rows) {
      const [marks, summary] = row
      if (marks !== this.#marksOf(summary.id) || !ids.delete(summary.id)) continue
      this.#kept.push(row)
      summaries.push(summary)
    }
    this.#isChanged = summaries.length < this.#rows.length
    return summaries
  }

  /** Keeps a summary that was read when no process held the lock. `holdEpoch` is that of the last hold. */
  keep(summary: SessionSummary, holdEpoch: number): void {
    const marks = this.#marksOf(summary.id)
    // A process that has marked the session with a higher epoch may be about to acquire the lock.
    if (holdEpochsOf(marks).some((marked) => marked > holdEpoch)) return
    this.#kept.push([marks, summary])
    this.#isChanged = true
  }

  /** The summaries that stay true until the mark of their session changes. */
  get kept(): SessionSummary[] {
    return this.#hasMarks ? this.#kept.map(([, summary]) => summary) : []
  }

  /** Writes the summaries for the next list, unless the file has them already. */
  save(): void {
    if (this.#boot === '' || !this.#isChanged) return
    const file: SummariesFile = { version: 1, boot: this.#boot, rows: this.#kept }
    const staged = join(this.#directory, `.${process.pid}.tmp`)
    try {
      if (ensureOwnDirectory(this.#directory) !== undefined) return
      createPrivateFile(staged, withChecksum(JSON.stringify(file).slice(0, -1)))
      renameSync(staged, join(this.#directory, summariesName))
    } catch {
      // The next list tries again.
      unlinkQuietly(staged)
    }
  }

  #readMarks(): void {
    for (const name of readdirSync(this.#directory)) {
      const at = name.indexOf('@')
      if (at < 0) continue
      const [id, mark] = [name.slice(0, at), name.slice(at)]
      const others = this.#marks.get(id)
      this.#marks.set(id, others === undefined ? mark : [...others.split(' '), mark].sort().join(' '))
    }
  }

  #readRows(): Row[] {
    const bytes = readFile(nodeDisk, join(this.#directory, summariesName))
    const text = bytes === undefined ? undefined : verifiedText(bytes)
    if (text === undefined) return []
    const { version, boot, rows } = JSON.parse(`${text.toString()}}`) as SummariesFile
    return version === 1 && boot === this.#boot ? rows : []
  }

  #marksOf(id: string): string {
    return this.#marks.get(id) ?? ''
  }
}

const holdEpochsOf = (marks: string): number[] =>
  marks.split(' ').map((mark) => Number(mark.split('@')[2] ?? 0))
