import { existsSync, readdirSync, renameSync, statSync, unlinkSync, utimesSync } from 'node:fs'
import { join } from 'node:path'
import { ifPossible } from '../base/errors/if-possible.ts'
import { errorMessage } from '../base/errors/stint-error.ts'
import { replaceFile } from '../base/fs/atomic-file.ts'
import { listIfReadable } from '../base/fs/exists.ts'
import { stintHome } from '../base/fs/home.ts'
import { measureTree } from '../base/fs/measure-tree.ts'
import { removeTree } from '../base/fs/remove-tree.ts'
import { readSmallFile } from '../base/fs/regular-file.ts'
import { parseObject } from '../base/text/fields.ts'
import { captureTree } from './capture-tree.ts'
import { formatPoints, type Point, readPoints } from './point.ts'
import { findStore, lockStore, type PointStore, storeDirectory, storeKey, withStore } from './store.ts'
import { defaultBudgetMs, endPause, pauseFile, readPause } from './take-point.ts'
import { readUnfinished } from './unfinished-undo.ts'
import { isGitTop } from './user-repository.ts'

/** Points older than this are removed, except for the newest. */
const keptMs = 14 * 24 * 3_600_000
/** A store over this size loses its oldest points. */
const keptBytes = 2 * 1024 ** 3
/** A store with more loose objects, or more packs, of which each undo makes one, is packed. */
const maxLooseDirectories = 200
const maxPackFiles = 40
/** How long a sweep works on one store, in milliseconds. */
const sweepBudgetMs = 300_000

export interface SweepPointsOptions {
  now?: number
  /** Removes only points that are older than this, in milliseconds, and older than 14 days. */
  olderThanMs?: number
  keptBytes?: number
}

/** What a sweep did with the points of one worktree. */
export interface SweptStore {
  directory: string
  removedPoints: number
  bytesFreed: number
  /** Why the store could not be swept or verified; undefined if all is well. */
  problem?: string
}

/**
 * Removes old points of all worktrees, packs the stores so that none needs the objects of the user, and
 * verifies them. A store that another process writes to is left for the next sweep.
 */
export async function sweepPoints(options: SweepPointsOptions = {}): Promise<SweptStore[]> {
  const swept: SweptStore[] = []
  for (const key of listIfReadable(join(stintHome(), 'points'))) {
    if (!/^[0-9a-f]{12}$/.test(key)) continue
    try {
      const deadline = Date.now() + sweepBudgetMs
      const result = await lockStore(key, 1000, deadline, async (store) =>
        store === undefined ? undefined : await sweepStore(store, options),
      )
      if (result !== undefined) swept.push(result)
      await retryAfterPause(key, deadline)
    } catch (error) {
      swept.push({
        directory: storeDirectory(key),
        removedPoints: 0,
        bytesFreed: 0,
        problem: errorMessage(error),
      })
    }
  }
  sweepNotices(options.now ?? Date.now())
  return swept
}

/** Ends a pause if a point can be taken in the time that a call has, now that a first one took longer. */
async function retryAfterPause(key: string, deadline: number): Promise<void> {
  const pause = readPause(key)
  if (pause === undefined) return
  if (!isGitTop(pause.root)) return endPause(key)
  const now = new Date()
  utimesSync(pauseFile(key), now, now)
  await withStore(pause.root, { waitMs: 1000, deadline }, captureTree)
  const callDeadline = Date.now() + defaultBudgetMs
  await withStore(pause.root, { waitMs: 1000, deadline: callDeadline }, captureTree)
  endPause(key)
}

/** Removes notices for sessions that never had another prompt. */
function sweepNotices(now: number): void {
  const directory = join(stintHome(), 'points/undone')
  for (const name of listIfReadable(directory)) {
    const path = join(directory, name)
    ifPossible(() => now - statSync(path).mtimeMs > keptMs && unlinkSync(path))
  }
}

/** A store is swept once a day; where points are paused, one is tried every hour. */
const sweepIntervalMs = 24 * 3_600_000
const retryIntervalMs = 3_600_000

/** Is a sweep due for a worktree? The first one makes its store independent of the objects of the user. */
export function isSweepDue(root: string, now = Date.now()): boolean {
  const triedAt = ifPossible(() => statSync(pauseFile(storeKey(root))).mtimeMs)
  if (triedAt !== undefined && now - triedAt > retryIntervalMs) return true
  const store = findStore(root)
  return store !== undefined && now - (readHealth(store)?.at ?? 0) > sweepIntervalMs
}

async function sweepStore(store: PointStore, options: SweepPointsOptions): Promise<SweptStore | undefined> {
  const { now = Date.now(), olderThanMs = 0 } = options
  const maxAgeMs = Math.max(keptMs, olderThanMs)
  const { root, directory } = store
  if (readUnfinished(store) !== undefined) return undefined
  const before = measureTree(directory).bytes
  const points = readPoints(store)
  const newest = points.at(-1)
  if (!isGitTop(root) && now - (newest?.at ?? 0) > maxAgeMs) {
    const { removed } = removeTree(directory)
    return { directory, removedPoints: removed === 0 ? 0 : points.length, bytesFreed: before }
  }
  const result: SweptStore = { directory, removedPoints: 0, bytesFreed: 0 }
  try {
    const kept = points.filter((point) => point === newest || now - point.at <= maxAgeMs)
    let left = await keepOnly(store, points, kept)
    await packStore(store, left.length < points.length)
    while (left.length > 1 && measureTree(directory).bytes > (options.keptBytes ?? keptBytes)) {
      left = await keepOnly(store, left, left.slice(Math.ceil(left.length / 2)))
      await packStore(store, true)
    }
    result.removedPoints = points.length - left.length
    await verify(store)
  } catch (error) {
    result.problem = errorMessage(error)
  }
  noteHealth(store, { at: now, problem: result.problem ?? null })
  return { ...result, bytesFreed: Math.max(0, before - measureTree(directory).bytes) }
}

async function keepOnly(
  store: PointStore,
  points: readonly Point[],
  kept: readonly Point[],
): Promise<Point[]> {
  if (kept.length < points.length) replaceFile(store.file('points.jsonl'), formatPoints(kept))
  const trees = new Set([...kept.map(({ tree }) => tree), readSmallFile(store.file('tree'))?.trim()])
  const refs = store.file('git/refs/trees')
  for (const name of readdirSync(refs)) if (!trees.has(name)) unlinkSync(join(refs, name))
  return [...kept]
}

/** Packs everything that the points need into the store, and then lets go of the objects of the user. */
async function packStore(store: PointStore, isForced: boolean): Promise<void> {
  const alternates = store.file('git/objects/info/alternates')
  const isAlone = !existsSync(alternates)
  const loose = readdirSync(store.file('git/objects')).filter((name) => name.length === 2).length
  const packFiles = readdirSync(store.file('git/objects/pack')).length
  if (isAlone && !isForced && loose < maxLooseDirectories && packFiles < maxPackFiles) return
  await store.git(['repack', '-a', '-d', '-q'])
  if (!isAlone) {
    renameSync(alternates, `${alternates}.off`)
    await verify(store).catch((error: unknown) => {
      renameSync(`${alternates}.off`, alternates)
      throw error
    })
    unlinkSync(`${alternates}.off`)
  }
  await store.git(['prune', '--expire=now'])
}

/** Throws if contents are missing that a point, or the index, needs. */
async function verify(store: PointStore): Promise<void> {
  await store.git(['rev-list', '--objects', '--quiet', '--all', '--indexed-objects'])
}

interface StoreHealth {
  at: number
  problem: string | null
}

const readHealth = (store: PointStore): StoreHealth | undefined =>
  parseObject(readSmallFile(store.file('health.json')) ?? '') as StoreHealth | undefined

const noteHealth = (store: PointStore, health: StoreHealth): void =>
  void ifPossible(() => replaceFile(store.file('health.json'), JSON.stringify(health)))

/** What `stint status` and `stint doctor` show of a store. */
export interface StoreReport {
  root: string
  points: number
  bytes: number
  /** What a sweep has found, or why no points are taken; null if all is well. */
  problem: string | null
  hasUnfinishedUndo: boolean
}

/** Describes a store. Starts no process. */
export function describeStore(store: PointStore): StoreReport {
  return {
    root: store.root,
    points: readPoints(store).length,
    bytes: measureTree(store.directory).bytes,
    problem: readPause(store.key)?.reason ?? readHealth(store)?.problem ?? null,
    hasUnfinishedUndo: readUnfinished(store) !== undefined,
  }
}
