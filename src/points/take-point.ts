import { lstatSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { ifPossible } from '../base/errors/if-possible.ts'
import { errorMessage, StintError } from '../base/errors/stint-error.ts'
import { bytePath, latin1Of } from '../base/fs/paths.ts'
import { createPrivateFile, makePrivateDirectories } from '../base/fs/private-file.ts'
import { readSmallFile } from '../base/fs/regular-file.ts'
import { ulid } from '../base/text/id.ts'
import { captureTree } from './capture-tree.ts'
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
  /** When the session that held the workspace before last did something, if its end was not seen. */
  lastActAt?: number
  budgetMs?: number
}

export type PointOutcome =
  | { outcome: 'taken'; point: Point }
  /** No points are taken here; `isNews` the first time that this is found out in a repository. */
  | { outcome: 'off'; reason: string; isNews: boolean }
  | { outcome: 'failed'; reason: string }

/** A point that takes longer never blocks a call. */
const defaultBudgetMs = 10_000

/**
 * Takes a restore point. Never throws, and returns within its budget: without a point, the change set is
 * incomplete. After a time-out no point is taken until a sweep has managed one.
 */
export async function takePoint(request: PointRequest): Promise<PointOutcome> {
  const deadline = Date.now() + (request.budgetMs ?? defaultBudgetMs)
  try {
    const paused = readPause(request.root)
    if (paused !== undefined) return { outcome: 'off', reason: paused, isNews: false }
    const point = await withStore(request.root, { waitMs: deadline - Date.now(), deadline }, (store) =>
      addPoint(store, request),
    )
    return { outcome: 'taken', point }
  } catch (error) {
    const reason = errorMessage(error)
    const isNews = ifPossible(() => notePause(request.root, error)) ?? false
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
  const { git_directory, common_directory } = store.facts
  const [captured, head] = await Promise.all([
    captureTree(store),
    readUserHead(store.root, git_directory, common_directory),
  ])
  const { kind, sessionId, agent, words, fence, paths, lastActAt } = request
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
  if (lastActAt !== undefined) point.outside = await changedAfter(store, captured.tree, lastActAt)
  appendPoint(store, point, { isSynced })
  return point
}

/** The random end of a ULID, which people can type. */
const newPointId = (): string => ulid().slice(-8).toLowerCase()

/**
 * The paths that differ from the last point and were changed after this time. A file that is gone was removed
 * at the latest when its directory last changed.
 */
export async function changedAfter(store: PointStore, tree: string, time: number): Promise<string[]> {
  const last = readPoints(store).at(-1)
  if (last === undefined || last.tree === tree) return []
  const [changes = []] = await diffTrees(store, [[last.tree, tree]])
  const root = latin1Of(store.root)
  const changeTime = (path: string): number =>
    ifPossible(() => lstatSync(bytePath(`${root}/${path}`)).ctimeMs) ??
    (path === '.' ? 0 : changeTime(dirname(path)))
  return changes.map(({ path }) => path).filter((path) => changeTime(path) > time)
}

/** A file with the reason why no points are taken in a worktree, until a sweep removes it. */
const pauseFile = (root: string): string => join(storeDirectory(storeKey(root)), 'paused')

/** Why no points are taken in a worktree until the next sweep; undefined if they are. */
export const readPause = (root: string): string | undefined => readSmallFile(pauseFile(root))

/** Notes a failure that would come again at every call; true if it was not noted before. */
function notePause(root: string, error: unknown): boolean {
  const { code, options } = error instanceof StintError ? error : {}
  const isLasting = code === 'POINTS_OFF' || code === 'COMMAND_NOT_FOUND' || options?.detail === 'late=true'
  if (!isLasting || !isGitTop(root)) return false
  makePrivateDirectories(dirname(pauseFile(root)))
  createPrivateFile(pauseFile(root), errorMessage(error))
  return true
}
