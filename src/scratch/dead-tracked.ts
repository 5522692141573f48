import { isRealDirectory } from '../base/fs/exists.ts'
import { nothingRemoved, type Removal, type RemovalOptions } from '../base/fs/remove-tree.ts'
import { errorCode } from '../base/errors/stint-error.ts'
import type { ScratchRoot } from './root.ts'
import { readTrackedRecord, rewriteTrackedRecord, type TrackedRecord } from './tracked-record.ts'
import {
  inRemovalOrder,
  isSameFile,
  isProtected,
  protectedPaths,
  removeTracked,
  statOf,
  type TrackedPath,
} from './tracked.ts'

/** What became of one path that a dead run tracked. */
export interface DeadTracked {
  path: string
  type: 'file' | 'directory'
  removal: Removal
}

/**
 * What a sweep does about a tracked path. `forget`: it is gone, or something else is there. `spare`: this sweep must not remove it, such as a directory that
 * it works in; another one may. What cannot be looked at is tried.
 */
export function trackedPathFate(
  { path, file }: TrackedPath,
  root: ScratchRoot,
  precious: readonly string[],
): 'remove' | 'spare' | 'forget' {
  return isGone(path, file) ? 'forget' : isProtected(path, root, precious) ? 'spare' : 'remove'
}

function isGone(path: string, file: TrackedPath['file']): boolean {
  try {
    const there = statOf(path)
    return there === undefined || !isSameFile(file, there)
  } catch {
    return false
  }
}

/** The paths of a record that a sweep would remove. */
export function listRemovableTracked(root: ScratchRoot, requestId: string): TrackedPath[] {
  try {
    const precious = protectedPaths(root)
    const tracked = readTrackedRecord(root, requestId)?.tracked ?? []
    return tracked.filter((each) => trackedPathFate(each, root, precious) === 'remove')
  } catch {
    return []
  }
}

/** Removes what a run that is over has tracked. What could not or must not be removed stays in its record, for another sweep. Never throws. */
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
  const precious = protectedPaths(root)
  for (const tracked of inRemovalOrder(record.tracked)) {
    yield
    const fate = trackedPathFate(tracked, root, precious)
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
    // A full disk: the record stays as it is, and what has gone is not there the next time.
  }
  return gone
}
