import { utf8Of } from '../../base/fs/paths.ts'
import { openStore } from '../../cli/store.ts'
import {
  assertFinished,
  assertNoConflicts,
  type ChangeSet,
  type FileChange,
  type LastActs,
  previewUndo,
  sessionsOf,
  stagedPaths,
  undoChangeSets,
  type UndoPlan,
  type WorktreeChangeSets,
} from '../index.ts'

/** An undo as answers show it, before or after it was written. */
export interface DescribedUndo {
  workspace: string
  /** The id of the undo; null if nothing was written. */
  id: string | null
  undone_sets: readonly string[]
  dry_run: boolean
  files: { path: string; effect: string }[]
  conflicts: { path: string; why: string }[]
  /** Files that stay although the change sets made them, because they are ignored. */
  kept: string[]
  /** Files whose undone contents are still staged in git. */
  staged: string[]
  /** Files that were changed after a crash, and were left as they are. */
  changed_since: string[]
  /** The command that takes this back; null if there is nothing to take back. */
  take_back: string | null
}

/** An undo that was computed, and is not written yet. */
export interface PlannedUndo {
  root: string
  sets: readonly ChangeSet[]
  choice: { ids: readonly string[]; paths: readonly string[] }
  plan: UndoPlan
  isRedo: boolean
  lastActs: LastActs
}

/** Computes the undo of these sets, or of some of their paths (in Latin-1). Writes nothing. */
export async function planUndoOf(
  { store, sets, present, lastActs }: WorktreeChangeSets,
  chosen: readonly ChangeSet[],
  { paths = [] as readonly string[], isRedo = false } = {},
): Promise<PlannedUndo> {
  assertFinished(store)
  const choice = { ids: chosen.map(({ id }) => id), paths }
  const plan = await previewUndo(store, sets, present.tree, choice)
  return { root: store.root, sets, choice, plan, isRedo, lastActs }
}

/** Writes a planned undo, and notes it in the audit log of the sessions. Throws if it has conflicts. */
export async function performUndo(planned: PlannedUndo): Promise<DescribedUndo> {
  const { root, sets, choice, plan, isRedo, lastActs } = planned
  assertNoConflicts(plan)
  const described = describePlan(planned)
  if (plan.changes.length === 0) return described
  const { id, written } = await undoChangeSets({ root, ...choice, shown: plan, isRedo, lastActs })
  await auditUndo(sessionsOf(sets, choice.ids), root, { undo: id, sets: choice.ids, files: written.length })
  const staged = await stagedPaths(root, written)
  return {
    ...described,
    id,
    dry_run: false,
    staged: staged.map(utf8Of),
    take_back: takeBackCommand(id, isRedo),
  }
}

/** The command that takes an undo back, or a redo. */
export const takeBackCommand = (id: string, isRedo: boolean): string =>
  isRedo ? `stint undo ${id}` : 'stint redo'

/** Most sessions have no record, or their agent has it open: the activity log has every undo. */
async function auditUndo(sessionIds: readonly string[], root: string, detail: object): Promise<void> {
  if (sessionIds.length === 0) return
  const store = await openStore(undefined, () => {})
  for (const sessionId of sessionIds)
    await store
      .visit(sessionId, (visit) => visit.audit({ action: 'undo', subject: root, detail: { ...detail } }))
      .catch(() => {})
  await store.close()
}

export const describePlan = ({ root, choice, plan }: PlannedUndo): DescribedUndo => ({
  workspace: root,
  id: null,
  undone_sets: choice.ids,
  dry_run: true,
  files: plan.changes.map((change) => ({ path: utf8Of(change.path), effect: effectOf(change) })),
  conflicts: plan.conflicts.map(({ path, why }) => ({ path: utf8Of(path), why })),
  kept: plan.kept.map(utf8Of),
  staged: [],
  changed_since: [],
  take_back: null,
})

function effectOf({ from, to, isMerged }: FileChange): string {
  if (to === undefined) return 'deleted'
  if (from === undefined) return 'brought back'
  return isMerged ? 'changed back, with later changes kept' : 'changed back'
}
