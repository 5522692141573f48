import { existsSync, readdirSync, renameSync, rmSync, unlinkSync } from 'node:fs'
import { join } from 'node:path'
import { ifPossible } from '../base/errors/if-possible.ts'
import { errorMessage } from '../base/errors/stint-error.ts'
import { measureTree } from '../base/fs/measure-tree.ts'
import { readSmallFile } from '../base/fs/regular-file.ts'
import { removeTree } from '../base/fs/remove-tree.ts'
import { captureWorktree } from './capture-worktree.ts'
import { runGit } from './git.ts'
import { hasUnfinished, type Point, readPoints, replacePoints } from './point.ts'
import {
  findStore,
  listStoreKeys,
  lockStore,
  type PointStore,
  storeDirectory,
  storeKey,
  withStore,
} from './store.ts'
import { seedIndex } from './store-index.ts'
import { changeHealth, defaultBudgetMs, readHealth } from './take-point.ts'
import { sweepNotices } from './undone-notices.ts'
import { isGitTop, readUserRepository } from './user-repository.ts'

const hourMs = 3_600_000
/** Points older than this are removed, except for the newest. */
const keptMs = 14 * 24 * hourMs
/** A store with more loose objects, or more packs, of which each undo makes one, is packed. */
const maxLooseDirectories = 200
const maxPackFiles = 40
/** How long a sweep works on one store, in milliseconds. */
const sweepBudgetMs = 300_000

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
 * verifies them. A store that another process writes to is left for the next sweep. `olderThanMs` spares
 * points that are not as old, and a store over `keptBytes` loses its oldest points.
 */
export async function sweepPoints({
  now = Date.now(),
  olderThanMs = 0,
  keptBytes = 2 * 1024 ** 3,
} = {}): Promise<SweptStore[]> {
  const oldest = now - Math.max(keptMs, olderThanMs)
  const swept: SweptStore[] = []
  for (const key of listStoreKeys()) {
    const deadline = Date.now() + sweepBudgetMs
    try {
      await lockStore(key, { waitMs: 1000, deadline }, async (store) => {
        if (store === undefined || hasUnfinished(store)) return
        swept.push(await sweepStore(store, { now, oldest, keptBytes }))
      })
      await retryAfterPause(key, deadline)
    } catch (error) {
      const directory = storeDirectory(key)
      swept.push({ directory, removedPoints: 0, bytesFreed: 0, problem: errorMessage(error) })
    }
  }
  sweepNotices(now - keptMs)
  return swept
}

/** Ends a pause if a point can be taken in the time that a call has, now that a first one took longer. */
async function retryAfterPause(key: string, deadline: number): Promise<void> {
  const { root, pause } = readHealth(key)
  if (pause === null) return
  if (!isGitTop(root)) return void (findStore(root) ?? removeTree(storeDirectory(key)))
  changeHealth(key, { sweptAt: Date.now() })
  const tryPoint = (until: number) =>
    withStore(root, { waitMs: 1000, deadline: until }, (store) => captureWorktree(store))
  await tryPoint(deadline)
  await tryPoint(Date.now() + defaultBudgetMs)
  changeHealth(key, { pause: null })
}

/**
 * Is a sweep due for a worktree? Once a day: the first one makes its store independent of the objects of the
 * user. Where points are paused, one is tried every hour.
 */
export function isSweepDue(root: string, now = Date.now()): boolean {
  const { sweptAt, pause } = readHealth(storeKey(root))
  if (pause !== null) return now - sweptAt > hourMs
  return findStore(root) !== undefined && now - sweptAt > 24 * hourMs
}

async function sweepStore(
  store: PointStore,
  { now, oldest, keptBytes }: { now: number; oldest: number; keptBytes: number },
): Promise<SweptStore> {
  const { root, directory } = store
  const bytesBefore = measureTree(directory).bytes
  const points = readPoints(store)
  const newest = points.at(-1)
  if (!isGitTop(root) && (newest?.at ?? 0) < oldest) {
    const { removed } = removeTree(directory)
    return { directory, removedPoints: removed === 0 ? 0 : points.length, bytesFreed: bytesBefore }
  }
  let kept: readonly Point[] = points
  const keep = async (fewer: readonly Point[]): Promise<void> => {
    await keepOnly(store, kept, fewer)
    kept = fewer
  }
  const prune = async (): Promise<void> => {
    await keep(kept.filter((point) => point === newest || point.at >= oldest))
    while (kept.length > 1 && measureTree(directory).bytes > keptBytes)
      await keep(kept.slice(Math.ceil(kept.length / 2)))
    await verify(store)
  }
  let problem: string | undefined
  try {
    await prune()
  } catch (error) {
    problem = errorMessage(error)
    kept = (await dropDamaged(store, kept).catch(() => undefined)) ?? kept
    if (kept.length < points.length) await prune().catch(() => {})
  }
  ifPossible(() => changeHealth(store.key, { root, sweptAt: now, problem: problem ?? null }))
  const bytesFreed = Math.max(0, bytesBefore - measureTree(directory).bytes)
  return { directory, removedPoints: points.length - kept.length, bytesFreed, problem }
}

/** Removes the other points of a store, and packs it. */
async function keepOnly(store: PointStore, points: readonly Point[], kept: readonly Point[]): Promise<void> {
  const isLess = kept.length < points.length
  if (isLess) replacePoints(store, kept)
  const trees = new Set([...kept.map(({ tree }) => tree), readSmallFile(store.file('tree'))])
  const refs = store.file('git/refs/trees')
  for (const name of readdirSync(refs)) if (!trees.has(name)) unlinkSync(join(refs, name))
  await packStore(store, isLess)
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

/**
 * Returns the points whose contents are all there, if others are not: the user has deleted objects, or all of
 * `.git`, before a sweep had packed them. The next point then reads every file again.
 */
async function dropDamaged(store: PointStore, points: readonly Point[]): Promise<Point[] | undefined> {
  const repository = await readUserRepository(store.root, store.deadline)
  const intact: Point[] = []
  for (const point of points) if (await isWhole(store, point)) intact.push(point)
  if (intact.length === points.length) return undefined
  for (const name of ['tree', 'git/refs/heads/points']) rmSync(store.file(name), { force: true })
  await seedIndex(store, { ...repository, converted: undefined })
  replacePoints(store, intact)
  return intact
}

async function isWhole(store: PointStore, { tree }: Point): Promise<boolean> {
  const { code, stderr } = await runGit(['rev-list', '--objects', '--quiet', tree], store.gitOptions())
  // Git also fails for want of memory or of descriptors.
  return code === 0 || !/missing|bad (?:tree )?object|unable to (?:read|parse)|not a valid/i.test(stderr)
}

/** What `stint status` and `stint doctor` show of a store. Starts no process. */
export function describeStore(store: PointStore) {
  const { pause, problem } = readHealth(store.key)
  return {
    root: store.root,
    points: readPoints(store).length,
    bytes: measureTree(store.directory).bytes,
    /** Why no points are taken, or what a sweep has found; null if all is well. */
    problem: pause ?? problem,
    hasUnfinishedUndo: hasUnfinished(store),
  }
}

export type StoreReport = ReturnType<typeof describeStore>
