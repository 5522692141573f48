import { isRealDirectory, lstatIfExists } from '../base/fs/exists.ts'
import { nothingRemoved, type Removal, type RemovalOptions } from '../base/fs/remove-tree.ts'
import { ifPossible } from '../base/errors/if-possible.ts'
import { errorCode } from '../base/errors/stint-error.ts'
import type { ScratchRoot } from './root.ts'
import { readTrackedRecord, rewriteTrackedRecord, type TrackedRecord } from './tracked-record.ts'
import {
  inRemovalOrder,
  isSameFile,
  isProtected,
  protectedPaths,
  removeTracked,
  type TrackedPath,
} from './tracked.ts'

/** The removal of one path that a dead run tracked. */
interface DeadTracked {
  path: string
  type: 'file' | 'directory'
  removal: Removal
}

/**
 * Decides what a sweep does with a tracked path. `forget`: it is gone or replaced by another file. `spare`:
 * this sweep must not remove it, for example because it is its current directory; another sweep may. If the
 * path cannot be examined, the sweep tries to remove it.
 */
function trackedPathFate(
  { path, file }: TrackedPath,
  root: ScratchRoot,
  spared: readonly string[],
): 'remove' | 'spare' | 'forget' {
  const isGone = ifPossible(() => {
    const stat = lstatIfExists(path)
    return stat === undefined || !isSameFile(file, stat)
  })
  return isGone ? 'forget' : isProtected(path, root, spared) ? 'spare' : 'remove'
}

/** The paths that a run tracks, and whether a sweep would remove them; none if the record is unreadable. */
export const listTracked = (root: ScratchRoot, requestId: string): (TrackedPath & { sweepable: boolean })[] =>
  ifPossible(() => {
    const spared = protectedPaths(root)
    const { tracked = [] } = readTrackedRecord(root, requestId) ?? {}
    return tracked.map((each) => ({ ...each, sweepable: trackedPathFate(each, root, spared) === 'remove' }))
  }) ?? []

/** Removes the paths that an ended run tracked. Its record keeps those that stay. Never throws. */
export function* removeDeadTracked(
  root: ScratchRoot,
  requestId: string,
  options: RemovalOptions = {},
): Generator<void, DeadTracked[]> {
  let record: TrackedRecord | undefined
  try {
    record = readTrackedRecord(root, requestId)
  } catch (error) {
    const path = `${root.tracked}/${requestId}`
    const failure = { path, type: 'file' as const, error: errorCode(error) ?? String(error) }
    return [{ path, type: 'file', removal: { ...nothingRemoved(), failures: [failure] } }]
  }
  if (record === undefined) return []
  const gone: DeadTracked[] = []
  const left: TrackedPath[] = []
  const spared = protectedPaths(root)
  for (const tracked of inRemovalOrder(record.tracked)) {
    yield
    const fate = trackedPathFate(tracked, root, spared)
    if (fate === 'spare') left.push(tracked)
    if (fate !== 'remove') continue
    const type = isRealDirectory(tracked.path) ? 'directory' : 'file'
    const removal = removeTracked(tracked, { ...options, onlyIfSame: true })
    gone.push({ path: tracked.path, type, removal })
    if (removal.failures.length > 0 || !removal.complete) left.push(tracked)
  }
  try {
    rewriteTrackedRecord(root, requestId, { ...record, tracked: left })
  } catch {
    // With a full disk the record stays as it is; the next sweep finds the removed paths gone.
  }
  return gone
}
