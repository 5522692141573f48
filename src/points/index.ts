/** The door of restore points: what each session changed in a worktree, and how to take it back. */
export { type ChangeSet } from './change-sets.ts'
export { environmentWithoutGit, gitOutput } from './git.ts'
export { filesChangedByOthersSince, takeUndoneNotices } from './notices.ts'
export type { Point, PointKind } from './point.ts'
export { findStore, listStores, type PointStore } from './store.ts'
export { describeStore, type StoreReport, sweepPoints, type SweptStore } from './sweep-points.ts'
export { type PointOutcome, type PointRequest, takePoint } from './take-point.ts'
export type { PathChange } from './tree-diff.ts'
export {
  assertNoConflicts,
  previewUndo,
  readChanges,
  readChangeSets,
  recoverUndo,
  undoChangeSets,
  type UndoResult,
  type WorktreeChangeSets,
} from './undo.ts'
export type { FileChange, UndoPlan } from './undo-plan.ts'
export { assertFinished, readUnfinished } from './unfinished-undo.ts'
export { pointsProblem, stagedPaths } from './user-repository.ts'
