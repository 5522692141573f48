import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { ifPossible } from '../base/errors/if-possible.ts'
import { codedError, errorCode, errorMessage, StintError } from '../base/errors/stint-error.ts'
import { latin1Of, utf8Of } from '../base/fs/paths.ts'
import { createPrivateFile, makePrivateDirectories } from '../base/fs/private-file.ts'
import { ulid } from '../base/text/id.ts'
import { type ChangeSet, changeSets, isInSet } from './change-sets.ts'
import { underClaim } from './claims-here.ts'
import type { DiskRules } from './disk-entry.ts'
import { gitFailure, runGit } from './git.ts'
import { keepIgnored } from './ignored-after.ts'
import { readPoints } from './point.ts'
import type { PointStore } from './store.ts'
import { addPoint, type LastActs } from './take-point.ts'
import { diffTrees, readBlobs } from './tree-diff.ts'
import { type FileChange, findObstacles, type Merge, planUndo, type UndoPlan } from './undo-plan.ts'
import { leaveNotices } from './undone-notices.ts'
import {
  assertFinished,
  markUnfinished,
  readUnfinished,
  removeMark,
  type UnfinishedUndo,
} from './unfinished-undo.ts'
import { isChosenPath } from './worktree-changes.ts'
import { writeFiles } from './write-files.ts'

/** What to undo: change sets, and which of their paths. */
export interface UndoChoice {
  ids: readonly string[]
  /** Files and directories, in Latin-1; all if empty. */
  paths: readonly string[]
}

/** Computes what an undo would write; throws for contents that are not there any more. Writes nothing. */
export async function previewUndo(
  store: PointStore,
  sets: readonly ChangeSet[],
  presentTree: string,
  { ids, paths }: UndoChoice,
): Promise<UndoPlan> {
  const chosen = sets.filter(({ id }) => ids.includes(id)).toReversed()
  const diffs = await diffTrees(
    store,
    chosen.flatMap(({ from, to }): [string, string][] => [
      [from.tree, to.tree],
      [to.tree, presentTree],
    ]),
  )
  const undone = chosen.map((set, index) => ({
    changes: (diffs[2 * index] ?? []).filter(({ path }) => isInSet(set, path) && isChosenPath(path, paths)),
    since: new Map((diffs[2 * index + 1] ?? []).map((change) => [change.path, change])),
  }))
  try {
    const plan = await keepIgnored(store, await planUndo(undone, mergeBlobs(store)))
    return { ...plan, conflicts: [...plan.conflicts, ...findObstacles(diskRules(store), plan.changes)] }
  } catch (error) {
    throw codedError(error, `compare the files of ${store.root}`)
  }
}

/** Larger contents are not merged: a conflict that is named beats minutes of waiting. */
const maxMergedBytes = 20 << 20

/** Merges contents of a store with `git merge-file`, and keeps the result in the store. */
const mergeBlobs =
  (store: PointStore): Merge =>
  async (present, after, before) => {
    const blobs = await readBlobs(store, [present, after, before])
    if ([...blobs.values()].some(({ length }) => length > maxMergedBytes)) return undefined
    const directory = store.file(`merge-${ulid()}`)
    makePrivateDirectories(directory)
    try {
      const files = [present, after, before].map((oid, index) => {
        const file = join(directory, String(index))
        createPrivateFile(file, blobs.get(oid) ?? '')
        return file
      })
      const args = ['merge-file', '-p', '-q', ...files]
      const exit = await runGit(args, { env: store.gitEnvironment(), deadline: store.deadline })
      // The exit code is the number of conflicts; 255 is an error, such as contents that are not text.
      if (exit.code === null) throw gitFailure(args, exit)
      if (exit.code !== 0) return undefined
      const written = await store.git(['hash-object', '-w', '--stdin'], { input: exit.stdout })
      return written.toString().trim()
    } finally {
      ifPossible(() => rmSync(directory, { recursive: true, force: true }))
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
    const plan = await previewUndo(store, changeSets(readPoints(store)), begun.tree, request)
    assertNoConflicts(plan)
    if (JSON.stringify(plan) !== JSON.stringify(shown))
      throw new StintError('UNDO_STALE', 'files were changed since the undo was shown')
    const undo: UnfinishedUndo = {
      id: begun.id,
      at: begun.at,
      undoes: [...ids],
      isRedo,
      changes: plan.changes,
    }
    const contents = await readContents(store, plan.changes)
    await markUnfinished(store, undo)
    await writeOrTakeBack(store, undo, contents)
    return await finish(store, undo, sessionId)
  })
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
  try {
    const { changedByOthers } = writeFiles(diskRules(store), undo.id, undo.changes, contents)
    const [first] = changedByOthers
    if (first !== undefined) throw new StintError('UNDO_STALE', `${utf8Of(first)} was changed meanwhile`)
  } catch (error) {
    try {
      const back = reversed(undo.changes)
      writeFiles(diskRules(store), undo.id, back, await readContents(store, back))
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
async function finish(store: PointStore, undo: UnfinishedUndo, sessionId: string): Promise<UndoResult> {
  const written = undo.changes.map(({ path }) => path)
  const agent = undo.isRedo ? 'stint redo' : 'stint undo'
  try {
    const request = { root: store.root, kind: 'undo-done', sessionId, agent } as const
    await addPoint(store, request, { isSynced: true, begun: undo.id, written })
    const sessionIds = sessionsOf(changeSets(readPoints(store)), undo.undoes)
    ifPossible(() => leaveNotices(sessionIds, { root: store.root, at: undo.at, paths: written }))
    removeMark(store)
  } catch (cause) {
    const message = `the files are written, but the undo could not be noted: ${errorMessage(cause)}`
    throw new StintError('UNDO_UNFINISHED', message, { cause })
  }
  return { id: undo.id, written }
}

/** The sessions whose turns are among these change sets. */
export function sessionsOf(sets: readonly ChangeSet[], ids: readonly string[]): string[] {
  const turns = sets.filter(({ id, kind }) => kind === 'turn' && ids.includes(id))
  return [...new Set(turns.flatMap(({ session_id }) => session_id ?? []))]
}

export interface RecoveryResult extends UndoResult {
  isRedo: boolean
  /** Paths that were changed after the crash, and stay as they are. */
  changedByOthers: string[]
}

/** Finishes an interrupted undo, or takes it back. Paths that were changed since stay as they are. */
export async function recoverUndo(root: string, how: 'continue' | 'abort'): Promise<RecoveryResult> {
  return await underClaim(root, `stint undo --${how}`, async (sessionId, store) => {
    const undo = readUnfinished(store)
    if (undo === undefined)
      throw new StintError('NOT_FOUND', 'no undo was interrupted here', { hint: 'There is nothing to do.' })
    const { id, isRedo } = undo
    const changes = how === 'continue' ? undo.changes : reversed(undo.changes)
    const contents = await readContents(store, changes)
    const { done, changedByOthers } = writeFiles(diskRules(store), id, changes, contents)
    if (how === 'continue') await finish(store, undo, sessionId)
    else removeMark(store)
    return { id, isRedo, written: done, changedByOthers }
  })
}
