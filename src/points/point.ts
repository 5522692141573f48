import { closeSync, fsyncSync, readFileSync } from 'node:fs'
import { errorCode } from '../base/errors/stint-error.ts'
import { openPrivateFile, writeAll } from '../base/fs/private-file.ts'
import { isCount, isString, parseObject } from '../base/text/fields.ts'
import type { PointStore } from './store.ts'

/**
 * Why a point was taken: a session was granted the workspace, its turn has ended, an undo is about to write
 * files, an undo has written them.
 */
export type PointKind = 'grant' | 'end' | 'undo-begun' | 'undo-done'

/** Something in the worktree whose contents a point does not have. A path of a directory ends with `/`. */
export interface LeftOut {
  path: string
  why: 'another repository' | 'over 10 MiB and untracked' | 'cannot be read' | 'no regular file'
}

/**
 * A restore point: the contents of a worktree at one moment, and why they were kept. Paths are in Latin-1,
 * one character a byte.
 */
export interface Point {
  id: string
  at: number
  kind: PointKind
  tree: string
  /** The commit of the user's HEAD. */
  head: string | null
  session_id: string
  agent?: string
  /** The first words of the prompt. */
  words?: string
  fence?: number
  /** The claimed files and directories; without it, the whole worktree. */
  paths?: string[]
  left_out: LeftOut[]
  /** For each session whose end was not seen: the paths that changed after its last known act. */
  outside?: Record<string, string[]>
  /** Of an undo: the change sets that it takes back. */
  undoes?: string[]
  /** Of an undo that is done: its first point, and the paths that it wrote. */
  begun?: string
  written?: string[]
  /** Of an undo: whether it takes back only some paths of its change sets, or takes back another undo. */
  is_partial?: boolean
  is_redo?: boolean
}

const logName = 'points.jsonl'

/** The points of a store, oldest first. A line that a crash has torn is left out. */
export function readPoints(store: PointStore): Point[] {
  return readLog(store)
    .split('\n')
    .flatMap((line) => parsePoint(line) ?? [])
}

function readLog(store: PointStore): string {
  try {
    return readFileSync(store.file(logName), 'utf8')
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return ''
    throw error
  }
}

function parsePoint(line: string): Point | undefined {
  const fields = line === '' ? undefined : parseObject(line)
  if (fields === undefined) return undefined
  const { id, at, kind, tree, session_id, left_out } = fields
  const isPoint = [id, kind, tree, session_id].every(isString) && isCount(at) && Array.isArray(left_out)
  return isPoint ? (fields as unknown as Point) : undefined
}

/** Appends a point to the log. The caller holds the lock of the store. */
export function appendPoint(store: PointStore, point: Point, { isSynced = false } = {}): void {
  const fd = openPrivateFile(store.file(logName), 'a')
  try {
    // The first line break ends a line that a crash has torn; an empty line is no point.
    writeAll(fd, `\n${JSON.stringify(point)}\n`)
    if (isSynced) fsyncSync(fd)
  } finally {
    closeSync(fd)
  }
}

/** The text of a log with these points only. */
export const formatPoints = (points: readonly Point[]): string =>
  points.map((point) => `${JSON.stringify(point)}\n`).join('')
