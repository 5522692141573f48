/** The door of restore points: what each session changed in a worktree, and how to take it back. */
export { type ChangeSet, changeSets, isInSet } from './change-sets.ts'
export { isNested, lastActsOf, readLastActs } from './claims-here.ts'
export { environmentWithoutGit, gitOutput } from './git.ts'
export {
  type ChangedFiles,
  type GrantReport,
  pointAtGrant,
  pointAtTurnEnd,
  sweepAtSessionEnd,
  type TurnOfSession,
} from './hook-points.ts'
export { keptIgnoredFile, readKeptIgnored, setKeptIgnored } from './kept-ignored.ts'
export { type FilePatch, readPatches } from './patches.ts'
export { type Point, type PointKind, readPoints } from './point.ts'
export { findStore, listStores, type PointStore } from './store.ts'
export { describeStore, type StoreReport, sweepPoints, type SweptStore } from './sweep-points.ts'
export { type PointOutcome, type LastActs, type PointRequest, takePoint } from './take-point.ts'
export type { PathChange } from './tree-diff.ts'
export {
  assertCertain,
  assertNoConflicts,
  previewUndo,
  recoverUndo,
  sessionsOf,
  undoChangeSets,
  type UndoResult,
} from './undo.ts'
export { takeUndoneNotices, type UndoneNotice } from './undone-notices.ts'
export type { FileChange, UndoPlan } from './undo-plan.ts'
export { assertFinished, readUnfinished } from './unfinished-undo.ts'
export { pointsProblem, stagedPaths } from './user-repository.ts'
export { isChosenPath, readChanges, readChangeSets, type WorktreeChangeSets } from './worktree-changes.ts'
