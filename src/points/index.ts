/** The door of restore points: what each session changed in a worktree, and how to take it back. */
export { type Point, type PointKind } from './point.ts'
export { type PointOutcome, type PointRequest, takePoint } from './take-point.ts'
