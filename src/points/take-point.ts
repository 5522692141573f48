import { join } from 'node:path'
import { ifPossible } from '../base/errors/if-possible.ts'
import { errorMessage, StintError } from '../base/errors/stint-error.ts'
import { replaceFile } from '../base/fs/atomic-file.ts'
import { latin1Of } from '../base/fs/paths.ts'
import { makePrivateDirectories } from '../base/fs/private-file.ts'
import { readSmallFile } from '../base/fs/regular-file.ts'
import { parseObject } from '../base/text/fields.ts'
import { ulid } from '../base/text/id.ts'
import { captureWorktree, type LastActs } from './capture-worktree.ts'
import { lateDetail } from './git.ts'
import { appendPoint, type Point } from './point.ts'
import { type PointStore, storeDirectory, storeKey, withStore } from './store.ts'
import { isGitTop } from './user-repository.ts'

/** A point to take. The caller knows the session and holds the claim. */
export interface PointRequest {
  /** The top of the worktree. */
  root: string
  kind: Point['kind']
  sessionId: string
  agent?: string
  words?: string
  /** What the session has claimed, relative to the root; without it, the whole worktree. */
  paths?: readonly string[]
  /** A change set whose end was not seen counts as incomplete if its session is missing here. */
  lastActs?: LastActs
  budgetMs?: number
}

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
  const { root, budgetMs = defaultBudgetMs } = request
  const deadline = Date.now() + budgetMs
  try {
    const { pause } = readHealth(storeKey(root))
    if (pause !== null) return { outcome: 'off', reason: pause, isNews: false }
    const point = await withStore(root, { waitMs: budgetMs, deadline }, (store) => addPoint(store, request))
    return { outcome: 'taken', point }
  } catch (error) {
    const reason = errorMessage(error)
    const isNews = ifPossible(() => beginPause(root, error)) ?? false
    const isOff = error instanceof StintError && error.code === 'POINTS_OFF'
    return isOff || isNews ? { outcome: 'off', reason, isNews } : { outcome: 'failed', reason }
  }
}

/** Takes a point in a store whose lock the caller holds; throws if that fails. */
export async function addPoint(
  store: PointStore,
  { kind, sessionId, agent, words, paths, lastActs }: Omit<PointRequest, 'root' | 'budgetMs'>,
  undo: Pick<Point, 'undoes' | 'begun' | 'written' | 'is_partial'> = {},
): Promise<Point> {
  const point: Point = {
    // The random end of a ULID, which people can type.
    id: ulid().slice(-8).toLowerCase(),
    kind,
    session_id: sessionId,
    agent,
    words,
    paths: paths?.map(latin1Of),
    ...(await captureWorktree(store, lastActs)),
    ...undo,
  }
  appendPoint(store, point)
  return point
}

/** What is known about the points of a worktree: `health.json`, also where there is no store yet. */
interface Health {
  root: string
  /** When a sweep last looked; 0 if none has. */
  sweptAt: number
  /** What it found to be wrong. */
  problem: string | null
  /** Why no points are taken until a sweep has managed one. */
  pause: string | null
}

const healthFile = (key: string): string => join(storeDirectory(key), 'health.json')

export function readHealth(key: string): Health {
  const fields = parseObject(readSmallFile(healthFile(key)) ?? '')
  return { root: '', sweptAt: 0, problem: null, pause: null, ...fields }
}

export const changeHealth = (key: string, change: Partial<Health>): void =>
  replaceFile(healthFile(key), JSON.stringify({ ...readHealth(key), ...change }))

/** Notes a failure that would come again at every call; false if it is none, or there is no repository. */
function beginPause(root: string, error: unknown): boolean {
  if (!(error instanceof StintError) || !isGitTop(root)) return false
  const isLate = error.options.detail === lateDetail.detail
  if (!isLate && !['POINTS_OFF', 'COMMAND_NOT_FOUND', 'LOCK_HELD'].includes(error.code)) return false
  const key = storeKey(root)
  makePrivateDirectories(storeDirectory(key))
  changeHealth(key, { root, pause: error.message })
  return true
}
