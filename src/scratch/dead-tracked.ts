import { lstatSync } from 'node:fs'
import { nothingRemoved, type Removal, type RemovalOptions } from '../primitives/remove-tree.ts'
import { errnoOf } from '../primitives/stint-error.ts'
import type { ScratchRoot } from './root.ts'
import { readTrackedRecord, rewriteTracked, type TrackedRecord } from './tracked-record.ts'
import { inOrder, isDirectory, isSame, isTooMuch, removeTracked, type TrackedPath } from './tracked.ts'

/** What became of one path that a dead run tracked. */
export interface DeadTracked {
  path: string
  type: 'file' | 'directory'
  removal: Removal
}

/** What of it a sweep may remove: what is still the same, and takes nothing else along. */
export const isSweepable = (tracked: TrackedPath, root: ScratchRoot): boolean =>
  !isTooMuch(tracked.path, root) && isStill(tracked)

function isStill({ path, file }: TrackedPath): boolean {
  try {
    return isSame(file, lstatSync(path))
  } catch {
    return false
  }
}

/** The paths of a record that a sweep would remove. */
export function sweepableOf(root: ScratchRoot, requestId: string): TrackedPath[] {
  try {
    return (readTrackedRecord(root, requestId)?.tracked ?? []).filter((each) => isSweepable(each, root))
  } catch {
    return []
  }
}

/** Removes what a run that is over has tracked. What could not be removed stays in its record, for the next sweep. Never throws. */
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
    const failure = { path, type: 'file' as const, error: errnoOf(error) ?? String(error) }
    return [{ path, type: 'file', removal: { ...nothingRemoved(), failures: [failure] } }]
  }
  if (record === undefined) return []
  const gone: DeadTracked[] = []
  const left: TrackedPath[] = []
  for (const tracked of inOrder(record.tracked)) {
    yield
    if (!isSweepable(tracked, root)) continue
    const type = isDirectory(tracked.path) ? 'directory' : 'file'
    const removal = removeTracked(tracked, { ...options, onlyIfSame: true })
    gone.push({ path: tracked.path, type, removal })
    if (removal.failures.length > 0 || !removal.complete) left.push(tracked)
  }
  try {
    rewriteTracked(root, requestId, { ...record, tracked: left })
  } catch {
    // A full disk: the record stays as it is, and what has gone is not there the next time.
  }
  return gone
}
