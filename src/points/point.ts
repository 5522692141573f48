import { closeSync, fsyncSync, readFileSync, unlinkSync } from 'node:fs'
import { explained } from '../base/errors/if-possible.ts'
import { codedError, StintError } from '../base/errors/stint-error.ts'
import { replaceFile } from '../base/fs/atomic-file.ts'
import { exists, ifExists } from '../base/fs/exists.ts'
import { openPrivateFile, writeAll } from '../base/fs/private-file.ts'
import { isCount, isRecord, isString, parseObject } from '../base/text/fields.ts'
import type { PointStore } from './store.ts'
import type { FileChange } from './undo-plan.ts'

/**
 * A restore point: the contents of a worktree at one moment, and why they were kept. Paths are in Latin-1,
 * one character a byte.
 */
export interface Point {
  id: string
  at: number
  /** A session was granted the workspace, its turn has ended, an undo is about to write, has written. */
  kind: 'grant' | 'end' | 'undo-begun' | 'undo-done'
  tree: string
  /** The commit of the user's HEAD. */
  head: string | null
  session_id: string
  agent?: string
  /** The first words of the prompt. */
  words?: string
  /** The claimed files and directories; without it, the whole worktree. */
  paths?: string[]
  /** What the tree does not have. The path of a directory ends with `/`. */
  left_out: { path: string; why: string }[]
  /** For each session whose end was not seen: the paths that changed after its last known act. */
  outside?: Record<string, string[]>
  /** Of an undo that has begun: the change sets that it takes back, whole or only some of their paths. */
  undoes?: string[]
  is_partial?: boolean
  /** Of an undo that is done: its first point, and the paths that it wrote. */
  begun?: string
  written?: string[]
}

const logName = 'points.jsonl'

/** The points of a store, oldest first. A line that a crash has torn is left out. */
export function readPoints(store: PointStore): Point[] {
  const log = ifExists(() => readFileSync(store.file(logName), 'utf8')) ?? ''
  return log.split('\n').flatMap((line) => parsePoint(line) ?? [])
}

function parsePoint(line: string): Point | undefined {
  const fields = line === '' ? undefined : parseObject(line)
  if (fields === undefined) return undefined
  const { id, at, kind, tree, session_id, left_out } = fields
  const isPoint = [id, kind, tree, session_id].every(isString) && isCount(at) && Array.isArray(left_out)
  return isPoint ? (fields as unknown as Point) : undefined
}

/** Appends a point to the log. The caller holds the lock of the store. */
export function appendPoint(store: PointStore, point: Point): void {
  const fd = openPrivateFile(store.file(logName), 'a')
  try {
    // The first line break ends a line that a crash has torn; an empty line is no point.
    writeAll(fd, `\n${JSON.stringify(point)}\n`)
    // An agent waits for its points; an undo must not begin before its point is durable.
    if (point.kind.startsWith('undo-')) fsyncSync(fd)
  } finally {
    closeSync(fd)
  }
}

/** Replaces the log by one with these points only. */
export const replacePoints = (store: PointStore, points: readonly Point[]): void =>
  replaceFile(store.file(logName), points.map((point) => `${JSON.stringify(point)}\n`).join(''))

/** An undo that has begun to write: enough to finish it, or to take it back. */
export interface UnfinishedUndo {
  begun: Point
  changes: FileChange[]
}

const markerName = 'undo.json'

/** Has a crash interrupted an undo? A mark that cannot be read counts. */
export const hasUnfinished = (store: PointStore): boolean => exists(store.file(markerName))

/** The undo that a crash has interrupted; undefined if there is none. Throws if its mark cannot be read. */
export function readUnfinished(store: PointStore): UnfinishedUndo | undefined {
  const file = store.file(markerName)
  const read = () => ifExists(() => readFileSync(file, 'utf8'))
  const text = explained((error) => codedError(error, `read ${file}`), read)
  if (text === undefined) return undefined
  const undo = parseObject(text)
  if (isRecord(undo?.begun) && Array.isArray(undo.changes)) return undo as unknown as UnfinishedUndo
  const message = `an undo was interrupted, and ${file}, which says what it was to write, is damaged`
  const hint = `Look at \`git diff\`; when all files are as you want them, remove ${file}.`
  throw new StintError('POINT_DAMAGED', message, { hint })
}

/** Throws `UNDO_UNFINISHED` while an undo waits to be finished or taken back. */
export function assertFinished(store: PointStore): void {
  const unfinished = readUnfinished(store)
  if (unfinished === undefined) return
  const { begun, changes } = unfinished
  const message = `the undo of ${new Date(begun.at).toISOString()} was interrupted: of ${changes.length} files, some are as before and some are undone`
  throw new StintError('UNDO_UNFINISHED', message)
}

export const markUnfinished = (store: PointStore, undo: UnfinishedUndo): void =>
  replaceFile(store.file(markerName), JSON.stringify(undo))

export const removeMark = (store: PointStore): void => unlinkSync(store.file(markerName))
