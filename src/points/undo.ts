import { ifPossible } from '../base/errors/if-possible.ts'
import { codedError, errorCode, errorMessage, StintError } from '../base/errors/stint-error.ts'
import { nodeDisk } from '../base/fs/disk.ts'
import { utf8Of } from '../base/fs/paths.ts'
import { newSessionId } from '../base/text/id.ts'
import { acquireLease, isInForce, type Lease } from '../lease/index.ts'
import type { LastActs } from './capture-worktree.ts'
import {
  type ChangeSet,
  changeSets,
  isChosenPath,
  isInSet,
  isRedo,
  isRedoOf,
  redoAgent,
} from './change-sets.ts'
import { findObstacles } from './disk-entry.ts'
import {
  assertFinished,
  markUnfinished,
  type Point,
  readPoints,
  readUnfinished,
  removeMark,
  type UnfinishedUndo,
} from './point.ts'
import { findStore, type PointStore, withStore } from './store.ts'
import { addPoint } from './take-point.ts'
import { diffTrees } from './tree-diff.ts'
import { type FileChange, planUndo, type UndoPlan } from './undo-plan.ts'
import { leaveNotices, withdrawNotices } from './undone-notices.ts'
import { commandWaitMs, readClaims, type WorktreeChangeSets } from './worktree-changes.ts'
import { writeFiles } from './write-files.ts'

/** An undo that was computed, and is not written yet. */
export interface PlannedUndo {
  root: string
  /** The change sets to take back, oldest first. */
  sets: readonly ChangeSet[]
  /** Only these files and directories of theirs, in Latin-1; all if empty. */
  paths: readonly string[]
  lastActs: LastActs
  plan: UndoPlan
}

/** Computes the undo of these sets, or of some of their paths (in Latin-1). Writes nothing. */
export async function planUndoOf(
  { store, presentTree, lastActs }: WorktreeChangeSets,
  sets: readonly ChangeSet[],
  paths: readonly string[] = [],
): Promise<PlannedUndo> {
  assertFinished(store)
  const { root } = store
  const plan = await withStore(root, { waitMs: commandWaitMs }, (locked) =>
    computePlan(locked, sets, paths, presentTree),
  )
  return { root, sets, paths, lastActs, plan }
}

async function computePlan(
  store: PointStore,
  sets: readonly ChangeSet[],
  paths: readonly string[],
  presentTree: string,
): Promise<UndoPlan> {
  const newestFirst = sets.toReversed()
  const ownPairs = newestFirst.map(({ from, to }) => [from.tree, to.tree] as const)
  const laterPairs = newestFirst.map(({ to }) => [to.tree, presentTree] as const)
  const diffs = await diffTrees(store, [...ownPairs, ...laterPairs])
  const undone = newestFirst.map((set, index) => ({
    changes: (diffs[index] ?? []).filter(({ path }) => isInSet(set, path) && isChosenPath(path, paths)),
    since: diffs[newestFirst.length + index] ?? [],
  }))
  if (paths.length > 0 && undone.every(({ changes }) => changes.length === 0))
    throw new StintError('NOT_FOUND', `nothing was changed there: ${paths.map(utf8Of).join(', ')}`, {
      hint: '`stint diff --stat` lists the files of a change set.',
    })
  try {
    const plan = await planUndo(store, undone)
    return { ...plan, conflicts: [...plan.conflicts, ...findObstacles(store, plan.changes)] }
  } catch (error) {
    throw codedError(error, `compare the files of ${store.root}`)
  }
}

/** Throws `UNDO_CONFLICT` if a plan has conflicts. */
export function assertNoConflicts({ conflicts }: UndoPlan): void {
  if (conflicts.length === 0) return
  const listed = conflicts.slice(0, 10).map(({ path, why }) => `${utf8Of(path)}: ${why}`)
  const more = conflicts.length > listed.length ? `; and ${conflicts.length - listed.length} more` : ''
  const message = `cannot undo without losing what came later: ${listed.join('; ')}${more}`
  throw new StintError('UNDO_CONFLICT', message, {
    facts: { conflicts: conflicts.map(({ path, why }) => ({ path: utf8Of(path), why })) },
  })
}

/** Throws `UNDO_NEEDS_FORCE` for sets whose undo may take back more than a session did. */
export function assertCertain(sets: readonly ChangeSet[]): void {
  const uncertain = sets.find(({ isComplete, hasMovedHead }) => !isComplete || hasMovedHead)
  if (uncertain === undefined) return
  const { id, hasMovedHead } = uncertain
  const why = hasMovedHead
    ? 'HEAD moved in it (a commit, a rebase or another branch)'
    : 'a restore point is missing, so changes of others may be in it'
  throw new StintError('UNDO_NEEDS_FORCE', `${id} is not undone: ${why}`, {
    hint: `Look at it with \`stint diff ${id}\`, then use --force.`,
  })
}

/** What an undo or its recovery has done. */
export interface UndoResult {
  /** The id of the undo, which is a change set itself. */
  id: string
  isRedo: boolean
  written: string[]
  /** Paths that were changed after a crash, and stay as they are. */
  changedByOthers: string[]
}

/**
 * Writes a planned undo. Claims the workspace (`LOCK_HELD` while another session has it), takes a point,
 * computes the plan again, and writes it. Throws `UNDO_STALE` if that is no longer what was planned.
 */
export async function performUndo(planned: PlannedUndo): Promise<UndoResult> {
  const { root, paths, lastActs } = planned
  const purpose = isRedoOf(planned.sets) ? redoAgent : 'stint undo'
  return await underClaim(root, purpose, async (sessionId, store) => {
    assertFinished(store)
    const begun = await addPoint(
      store,
      { kind: 'undo-begun', sessionId, agent: purpose, lastActs },
      { undoes: planned.sets.map(({ id }) => id), is_partial: paths.length > 0 },
    )
    const plan = await computePlan(store, undoneSets(store, begun), paths, begun.tree)
    assertNoConflicts(plan)
    if (JSON.stringify(plan) !== JSON.stringify(planned.plan))
      throw new StintError('UNDO_STALE', 'files were changed since the undo was shown')
    const undo: UnfinishedUndo = { begun, changes: plan.changes }
    await syncContents(store, plan.changes)
    markUnfinished(store, undo)
    await writeOrTakeBack(store, undo)
    await finish(store, undo, sessionId)
    return {
      id: begun.id,
      isRedo: isRedo(begun),
      written: plan.changes.map(({ path }) => path),
      changedByOthers: [],
    }
  })
}

/** The change sets that an undo takes back. */
const undoneSets = (store: PointStore, { undoes = [] }: { undoes?: readonly string[] }): ChangeSet[] =>
  changeSets(readPoints(store)).filter(({ id }) => undoes.includes(id))

/** Git syncs a pack when it is complete; points sync nothing, as an agent waits for them. */
async function syncContents(store: PointStore, changes: readonly FileChange[]): Promise<void> {
  const oids = new Set(changes.flatMap(({ from, to }) => [from?.oid ?? [], to?.oid ?? []].flat()))
  if (oids.size === 0) return
  const input = `${[...oids].join('\n')}\n`
  await store.git(['pack-objects', '-q', store.file('git/objects/pack/pack')], { input })
  nodeDisk.syncDirectory(store.file('git/objects/pack'))
}

const reversed = (changes: readonly FileChange[]): FileChange[] =>
  changes.map(({ path, from, to, isMerged }) => ({ path, from: to, to: from, isMerged }))

/** Writes an undo. If that fails half-way, puts everything back; if that fails, too, the mark stays. */
async function writeOrTakeBack(store: PointStore, { begun, changes }: UnfinishedUndo): Promise<void> {
  try {
    const [first] = await writeFiles(store, begun.id, changes)
    if (first !== undefined) throw new StintError('UNDO_STALE', `${utf8Of(first)} was changed meanwhile`)
  } catch (error) {
    try {
      await writeFiles(store, begun.id, reversed(changes))
      removeMark(store)
    } catch (cause) {
      throw new StintError('UNDO_UNFINISHED', `the undo failed half-way: ${errorMessage(error)}`, { cause })
    }
    const isRefused = ['EROFS', 'EACCES', 'EPERM'].includes(errorCode(error) ?? '')
    const hint = isRefused ? `Make ${store.root} writable, and repeat the command.` : undefined
    const coded = codedError(error, `write to ${store.root} (nothing was changed)`, hint)
    if (coded instanceof StintError) throw coded
    // Such as a directory that was removed meanwhile.
    throw new StintError('UNDO_STALE', `everything is as it was: ${errorMessage(error)}`, { cause: error })
  }
}

/** Takes the last point of an undo. From here on, it is a change set like any other. */
async function finish(
  store: PointStore,
  { begun, changes }: UnfinishedUndo,
  sessionId: string,
): Promise<void> {
  const written = changes.map(({ path }) => path)
  try {
    await addPoint(store, { kind: 'undo-done', sessionId, agent: begun.agent }, { begun: begun.id, written })
    ifPossible(() => noteForSessions(store, begun, written))
    removeMark(store)
  } catch (cause) {
    const message = `the files are written, but the undo could not be noted: ${errorMessage(cause)}`
    throw new StintError('UNDO_UNFINISHED', message, { cause })
  }
}

/** Tells the sessions of undone turns what was taken back; after a redo, they need not know. */
function noteForSessions(store: PointStore, begun: Point, written: readonly string[]): void {
  const sets = undoneSets(store, begun)
  if (isRedo(begun)) {
    const restored = sets.flatMap((undo) => undoneSets(store, undo))
    withdrawNotices(sessionsOf(restored), written)
  } else leaveNotices(sessionsOf(sets), written)
}

/** The sessions whose turns are among these change sets. */
export const sessionsOf = (sets: readonly ChangeSet[]): string[] => [
  ...new Set(sets.flatMap(({ kind, session_id }) => (kind === 'turn' ? (session_id ?? []) : []))),
]

/** Finishes an interrupted undo, or takes it back. Paths that were changed since stay as they are. */
export async function recoverUndo(root: string, how: 'continue' | 'abort'): Promise<UndoResult> {
  return await underClaim(root, `stint undo --${how}`, async (sessionId, store) => {
    const undo = readUnfinished(store)
    if (undo === undefined)
      throw new StintError('NOT_FOUND', 'no undo was interrupted here', { hint: 'There is nothing to do.' })
    const { begun, changes } = undo
    const wanted = how === 'continue' ? changes : reversed(changes)
    const changedByOthers = await writeFiles(store, begun.id, wanted)
    if (how === 'continue') await finish(store, undo, sessionId)
    else removeMark(store)
    const written = changes.flatMap(({ path }) => (changedByOthers.includes(path) ? [] : [path]))
    return { id: begun.id, isRedo: isRedo(begun), written, changedByOthers }
  })
}

/** Runs `act` with a claim on the whole worktree, and the lock of its store. */
async function underClaim<Result>(
  root: string,
  purpose: string,
  act: (sessionId: string, store: PointStore) => Promise<Result>,
): Promise<Result> {
  const sessionId = newSessionId()
  const lease = await claimWorktree(root, sessionId, purpose)
  try {
    return await withStore(root, { waitMs: commandWaitMs }, (store) => act(sessionId, store))
  } finally {
    await lease?.release()
  }
}

/**
 * Claims a worktree. A session that keeps its claim between turns (`--hold session`) is not in the way: its
 * next turn begins with a point, and waits for the lock of the store. Then there is no claim.
 */
async function claimWorktree(root: string, sessionId: string, purpose: string): Promise<Lease | undefined> {
  try {
    return await acquireLease({ sessionId, workspace: root, purpose })
  } catch (error) {
    if (!(error instanceof StintError) || error.code !== 'LOCK_HELD') throw error
    if (await areAllBetweenTurns(root)) return undefined
    const hint = 'Nothing was changed. Repeat the command when that turn has ended (`stint lock wait`).'
    throw new StintError('LOCK_HELD', error.message, { ...error.options, hint })
  }
}

async function areAllBetweenTurns(root: string): Promise<boolean> {
  const { record, observation } = await readClaims(root)
  const store = findStore(root)
  const points = store === undefined ? [] : readPoints(store)
  return record.claims
    .filter((claim) => isInForce(claim, observation))
    .every((claim) => {
      const last = points.findLast(({ session_id }) => session_id === claim.session_id)
      return last?.kind === 'end' && observation.work(claim).every(({ isServer }) => isServer)
    })
}
