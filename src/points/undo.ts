import { ifPossible } from '../base/errors/if-possible.ts'
import { codedError, errorMessage, StintError } from '../base/errors/stint-error.ts'
import { latin1Of, utf8Of } from '../base/fs/paths.ts'
import { newSessionId } from '../base/text/id.ts'
import { acquireLease } from '../lease/index.ts'
import { captureTree } from './capture-tree.ts'
import { type ChangeSet, changeSets, isInSet, type PresentState } from './change-sets.ts'
import type { DiskRules } from './disk-entry.ts'
import { keepIgnored } from './ignored-after.ts'
import { mergeBlobs } from './merge-blobs.ts'
import { readPoints } from './point.ts'
import { type PointStore, withStore } from './store.ts'
import { addPoint, changedAfter, type LastActs } from './take-point.ts'
import { leaveNotices } from './undone-notices.ts'
import { diffTrees, type PathChange, readBlobs } from './tree-diff.ts'
import { type FileChange, findObstacles, planUndo, type UndoPlan } from './undo-plan.ts'
import {
  assertFinished,
  markUnfinished,
  readUnfinished,
  removeMark,
  type UnfinishedUndo,
} from './unfinished-undo.ts'
import { readUserHead } from './user-repository.ts'
import { writeFiles } from './write-files.ts'

/** How long a command waits for another writer of the store, in milliseconds. */
const commandWaitMs = 30_000

/** The change sets of a worktree, with the present as the end of what has none. */
export interface WorktreeChangeSets {
  store: PointStore
  /** Oldest first. */
  sets: ChangeSet[]
  present: PresentState
}

/** Reads the change sets of a worktree. `lastActs` has the sessions whose end was not seen. */
export async function readChangeSets(root: string, lastActs: LastActs = {}): Promise<WorktreeChangeSets> {
  return await withStore(root, { waitMs: commandWaitMs }, async (store) => {
    const { git_directory, common_directory } = store.facts
    const { tree, leftOut } = await captureTree(store)
    const present: PresentState = {
      at: Date.now(),
      tree,
      head: await readUserHead(root, git_directory, common_directory),
      left_out: leftOut,
      outside: await changedAfter(store, tree, lastActs),
    }
    return { store, present, sets: changeSets(readPoints(store), present) }
  })
}

/** The paths of each change set that count for it. */
export async function readChanges(
  store: PointStore,
  sets: readonly ChangeSet[],
  options: { countLines?: boolean } = {},
): Promise<PathChange[][]> {
  const diffs = await diffTrees(
    store,
    sets.map(({ from, to }) => [from.tree, to.tree] as const),
    options,
  )
  return sets.map((set, index) => (diffs[index] ?? []).filter(({ path }) => isInSet(set, path)))
}

/** What to undo: change sets, and which of their paths. */
export interface UndoChoice {
  ids: readonly string[]
  /** Files and directories, in Latin-1; all if empty. */
  paths: readonly string[]
}

/** Computes what an undo would write; throws for sets that are not there any more. Writes nothing. */
export async function previewUndo(
  store: PointStore,
  sets: readonly ChangeSet[],
  presentTree: string,
  { ids, paths }: UndoChoice,
): Promise<UndoPlan> {
  const chosen = sets.filter(({ id }) => ids.includes(id)).toReversed()
  const isChosen = ({ path }: PathChange): boolean =>
    paths.length === 0 || paths.some((each) => path === each || path.startsWith(`${each}/`))
  const changes = await readChanges(store, chosen)
  const since = await diffTrees(
    store,
    chosen.map(({ to }) => [to.tree, presentTree] as const),
  )
  const undone = chosen.map((_, index) => ({
    changes: (changes[index] ?? []).filter(isChosen),
    since: new Map((since[index] ?? []).map((change) => [change.path, change])),
  }))
  try {
    const plan = await keepIgnored(store, await planUndo(undone, mergeBlobs(store)))
    return { ...plan, conflicts: [...plan.conflicts, ...findObstacles(diskRules(store), plan.changes)] }
  } catch (error) {
    throw codedError(error, `compare the files of ${store.root}`)
  }
}

const diskRules = ({ root, facts }: PointStore): DiskRules => ({
  root: latin1Of(root),
  objectFormat: facts.object_format,
  trustsModes: facts.trusts_modes,
})

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

export interface UndoRequest extends UndoChoice {
  root: string
  /** The plan that the user has seen and agreed to. */
  shown: UndoPlan
  isRedo: boolean
  lastActs?: LastActs
}

export interface UndoResult {
  /** The id of the undo, which is a change set itself. */
  id: string
  written: string[]
}

/**
 * Takes change sets back. Claims the workspace (`LOCK_HELD` while another session has it), takes a point,
 * computes the plan again, and writes it. Throws `UNDO_STALE` if that is no longer what was shown.
 */
export async function undoChangeSets(request: UndoRequest): Promise<UndoResult> {
  const { root, ids, paths, shown, isRedo, lastActs } = request
  const purpose = isRedo ? 'stint redo' : 'stint undo'
  return await underClaim(root, purpose, async (sessionId, store) => {
    assertFinished(store)
    const begun = await addPoint(
      store,
      { root, kind: 'undo-begun', sessionId, agent: purpose, lastActs },
      { isSynced: true, undoes: [...ids], is_partial: paths.length > 0, is_redo: isRedo },
    )
    const sets = changeSets(readPoints(store))
    const plan = await previewUndo(store, sets, begun.tree, request)
    assertNoConflicts(plan)
    if (JSON.stringify(plan) !== JSON.stringify(shown))
      throw new StintError('UNDO_STALE', 'files were changed since the undo was shown')
    const undo: UnfinishedUndo = { id: begun.id, at: begun.at, undoes: [...ids], changes: plan.changes }
    const contents = await readContents(store, plan.changes)
    markUnfinished(store, undo)
    await writeOrTakeBack(store, undo, contents)
    return await finish(store, undo, sessionId)
  })
}

/** Runs `act` with a claim on the whole worktree, and the lock of its store. */
async function underClaim<Result>(
  root: string,
  purpose: string,
  act: (sessionId: string, store: PointStore) => Promise<Result>,
): Promise<Result> {
  const sessionId = newSessionId()
  const claim = await acquireLease({ sessionId, workspace: root, purpose })
  try {
    return await withStore(root, { waitMs: commandWaitMs }, (store) => act(sessionId, store))
  } finally {
    await claim.release()
  }
}

const readContents = (store: PointStore, changes: readonly FileChange[]): Promise<Map<string, Buffer>> =>
  readBlobs(
    store,
    changes.flatMap(({ to }) => to?.oid ?? []),
  )

const reversed = (changes: readonly FileChange[]): FileChange[] =>
  changes.map(({ path, from, to, isMerged }) => ({ path, from: to, to: from, isMerged }))

/** Writes an undo. If that fails half-way, puts everything back; if that fails, too, the mark stays. */
async function writeOrTakeBack(
  store: PointStore,
  undo: UnfinishedUndo,
  contents: ReadonlyMap<string, Buffer>,
): Promise<void> {
  const failure = attempt(() => {
    const { changedByOthers } = writeFiles(diskRules(store), undo.id, undo.changes, contents)
    const [first] = changedByOthers
    if (first !== undefined) throw new StintError('UNDO_STALE', `${utf8Of(first)} was changed meanwhile`)
  })
  if (failure === undefined) return
  const back = reversed(undo.changes)
  const originals = await readContents(store, back)
  const second = attempt(() => {
    writeFiles(diskRules(store), undo.id, back, originals)
    removeMark(store)
  })
  if (second === undefined) throw codedError(failure.error, 'undo: everything is as it was')
  const message = `the undo failed half-way: ${errorMessage(failure.error)}`
  throw new StintError('UNDO_UNFINISHED', message, { cause: second.error })
}

function attempt(act: () => void): { error: unknown } | undefined {
  try {
    act()
    return undefined
  } catch (error) {
    return { error }
  }
}

/** Takes the last point of an undo. From here on, it is a change set like any other. */
async function finish(store: PointStore, undo: UnfinishedUndo, sessionId: string): Promise<UndoResult> {
  const written = undo.changes.map(({ path }) => path)
  const request = { root: store.root, kind: 'undo-done', sessionId, agent: 'stint undo' } as const
  try {
    await addPoint(store, request, { isSynced: true, begun: undo.id, written })
    tellSessions(store, undo)
    removeMark(store)
  } catch (error) {
    const message = `the files are written, but the undo could not be noted: ${errorMessage(error)}`
    throw new StintError('UNDO_UNFINISHED', message, { cause: error })
  }
  return { id: undo.id, written }
}

/** Leaves a notice for each session whose turns were undone. */
function tellSessions(store: PointStore, { undoes, at, changes }: UnfinishedUndo): void {
  const turns = changeSets(readPoints(store)).filter(({ id, kind }) => kind === 'turn' && undoes.includes(id))
  const sessionIds = new Set(turns.flatMap(({ session_id }) => session_id ?? []))
  const paths = changes.map(({ path }) => path)
  ifPossible(() => leaveNotices(sessionIds, { root: store.root, at, paths }))
}

export interface RecoveryResult extends UndoResult {
  /** Paths that were changed after the crash, and stay as they are. */
  changedByOthers: string[]
}

/** Finishes an interrupted undo, or takes it back. Paths that were changed since stay as they are. */
export async function recoverUndo(root: string, how: 'continue' | 'abort'): Promise<RecoveryResult> {
  return await underClaim(root, `stint undo --${how}`, async (sessionId, store) => {
    const undo = readUnfinished(store)
    if (undo === undefined)
      throw new StintError('NOT_FOUND', 'no undo was interrupted here', { hint: 'There is nothing to do.' })
    const changes = how === 'continue' ? undo.changes : reversed(undo.changes)
    const contents = await readContents(store, changes)
    const { done, changedByOthers } = writeFiles(diskRules(store), undo.id, changes, contents)
    if (how === 'continue') await finish(store, undo, sessionId)
    else removeMark(store)
    return { id: undo.id, written: done, changedByOthers }
  })
}
