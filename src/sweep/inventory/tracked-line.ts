import { visibleText } from '../../base/text/escape.ts'
import { trackedPathFate } from '../../scratch/dead-tracked.ts'
import type { ScratchRoot } from '../../scratch/root.ts'
import { readTrackedRecord } from '../../scratch/tracked-record.ts'
import { protectedPaths } from '../../scratch/tracked.ts'

/** A line of `tracked/<requestId>`: something elsewhere that must go when its run goes. */
export interface TrackedLine {
  path: string
  /** The context that tracks it, as `outer > inner`. */
  context: string | null
  /** What a sweep asks: is it still what the run has put there? Not so if nothing was there when it was tracked, or if it covers too much. */
  sweepable: boolean
}

/** None if the record cannot be read. */
export function readTrackedLines(root: ScratchRoot, requestId: string): TrackedLine[] {
  try {
    const precious = protectedPaths(root)
    return (readTrackedRecord(root, requestId)?.tracked ?? []).map((tracked) => ({
      path: tracked.path,
      context: tracked.context === undefined ? null : visibleText(tracked.context),
      sweepable: trackedPathFate(tracked, root, precious) === 'remove',
    }))
  } catch {
    return []
  }
}
