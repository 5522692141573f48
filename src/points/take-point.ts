import { lstatSync, unlinkSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { ifPossible } from '../base/errors/if-possible.ts'
import { errorMessage, StintError } from '../base/errors/stint-error.ts'
import { bytePath, latin1Of } from '../base/fs/paths.ts'
import { createPrivateFile, makePrivateDirectories } from '../base/fs/private-file.ts'
import { readSmallFile } from '../base/fs/regular-file.ts'
import { parseObject } from '../base/text/fields.ts'
import { ulid } from '../base/text/id.ts'
import { captureTree } from './capture-tree.ts'
import { lateDetail } from './git.ts'
import { appendPoint, type Point, type PointKind, readPoints } from './point.ts'
import { type PointStore, storeDirectory, storeKey, withStore } from './store.ts'
import { diffTrees } from './tree-diff.ts'
import { isGitTop, readUserHead } from './user-repository.ts'

/** A point to take. The caller knows the session and holds the claim. */
export interface PointRequest {
  /** The top of the worktree. */
  root: string
  kind: PointKind
  sessionId: string
  agent?: string
  words?: string
  fence?: number
  /** What the session has claimed, relative to the root; without it, the whole worktree. */
  paths?: readonly string[]
  /**
   * When each session that held the workspace last did something, if its end was not seen (Esc, a kill). The
   * change set of a session that is missing here counts as incomplete.
   */
  lastActs?: LastActs
  budgetMs?: number
}

/** The time of the last known act by session id, in milliseconds since the epoch. */
export type LastActs = Readonly<Record<string, number>>

export type PointOutcome =
  | { outcome: 'taken'; point: Point }
  /** No points are taken here; `isNews` the first time that this is found out in a repository. */
  | { outcome: 'off'; reason: string; isNews: boolean }
  | { outcome: 'failed'; reason: string }

/** A point that takes longer never blocks a call. */
export const defaultBudgetMs = 10_000

/**
 * Takes a restore point. Never throws, and returns within its budget: without a point, the change set is
 * incomplete. After a time-out no point is taken until a sweep has managed one.
 */
export async function takePoint(request: PointRequest): Promise<PointOutcome> {
  const deadline = Date.now() + (request.budgetMs ?? defaultBudgetMs)
  try {
    const pause = readPause(storeKey(request.root))
    if (pause !== undefined) return { outcome: 'off', reason: pause.reason, isNews: false }
    const point = await withStore(request.root, { waitMs: deadline - Date.now(), deadline }, (store) =>
      addPoint(store, request),
    )
    return { outcome: 'taken', point }
  } catch (error) {
    const reason = errorMessage(error)
    const isNews = ifPossible(() => beginPause(request.root, error)) ?? false
    const isOff = error instanceof StintError && error.code === 'POINTS_OFF'
    return isOff || isNews ? { outcome: 'off', reason, isNews } : { outcome: 'failed', reason }
  }
}

/** Fields that an undo adds to its points. */
type UndoFields = Pick<Point, 'undoes' | 'begun' | 'written' | 'is_partial' | 'is_redo'>

/** Takes a point in a store whose lock the caller holds; throws if that fails. */
export async function addPoint(
  store: PointStore,
  request: PointRequest,
  { isSynced = false, ...undo }: UndoFields & { isSynced?: boolean } = {},
): Promise<Point> {
  const { root, facts, deadline } = store
  const [captured, head] = await Promise.all([captureTree(store), readUserHead(root, facts, deadline)])
  const { kind, sessionId, agent, words, fence, paths, lastActs } = request
  const point: Point = {
    id: newPointId(),
    at: Date.now(),
    kind,
    tree: captured.tree,
    head,
    session_id: sessionId,
    ...(agent !== undefined && { agent }),
    ...(words !== undefined && { words }),
    ...(fence !== undefined && { fence }),
    ...(paths !== undefined && { paths: paths.map(latin1Of) }),
    left_out: captured.leftOut,
    ...undo,
  }
  if (lastActs !== undefined) point.outside = await changedAfter(store, captured.tree, lastActs)
  appendPoint(store, point, { isSynced })
  return point
}

/** The random end of a ULID, which people can type. */
const newPointId = (): string => ulid().slice(-8).toLowerCase()

/**
 * The paths that differ from the last point and were changed after the last act of each session. A file that
 * is gone was removed at the latest when its directory last changed.
 */
export async function changedAfter(
  store: PointStore,
  tree: string,
  lastActs: LastActs,
): Promise<Record<string, string[]>> {
  if (Object.keys(lastActs).length === 0) return {}
  const last = readPoints(store).at(-1)
  const [changes = []] = last === undefined ? [] : await diffTrees(store, [[last.tree, tree]])
  const root = latin1Of(store.root)
  const changeTime = (path: string): number =>
    ifPossible(() => lstatSync(bytePath(`${root}/${path}`)).ctimeMs) ??
    (path === '.' ? 0 : changeTime(dirname(path)))
  const changed = changes.map(({ path }) => ({ path, at: changeTime(path) }))
  return Object.fromEntries(
    Object.entries(lastActs).map(([sessionId, actedAt]) => [
      sessionId,
      changed.filter(({ at }) => at > actedAt).map(({ path }) => path),
    ]),
  )
}

/** Why no points are taken in a worktree. */
export interface Pause {
  root: string
  reason: string
}

/** Its mtime is when a point was last tried. */
export const pauseFile = (key: string): string => join(storeDirectory(key), 'paused')

/** Why no points are taken here until a sweep has managed one; undefined if they are. */
export const readPause = (key: string): Pause | undefined =>
  parseObject(readSmallFile(pauseFile(key)) ?? '') as Pause | undefined

export const endPause = (key: string): void => unlinkSync(pauseFile(key))

/** Notes a failure that would come again at every call; true if it was not noted before. */
function beginPause(root: string, error: unknown): boolean {
  const { code, options } = error instanceof StintError ? error : {}
  const isLasting =
    code === 'POINTS_OFF' ||
    code === 'COMMAND_NOT_FOUND' ||
    code === 'LOCK_HELD' ||
    options?.detail === lateDetail.detail
  if (!isLasting || !isGitTop(root)) return false
  const pause: Pause = { root, reason: errorMessage(error) }
  makePrivateDirectories(storeDirectory(storeKey(root)))
  createPrivateFile(pauseFile(storeKey(root)), JSON.stringify(pause))
  return true
}
