import { join, relative, resolve } from 'node:path'
import { codedError } from '../base/errors/stint-error.ts'
import { exists, listIfReadable } from '../base/fs/exists.ts'
import { isWithin, realParentPath } from '../base/fs/paths.ts'
import { type ContextLine, contextsContaining, readContexts } from '../scratch/create-in.ts'
import { findRoot, type ScratchRoot } from '../scratch/root.ts'
import {
  listEntries,
  type MeasuredEntry,
  measureEntry,
  readTrackedLines,
  type TrackedLine,
} from './inventory.ts'

/** Where a path comes from, according to the records of the runs. */
export interface TracedPath {
  path: string
  exists: boolean
  /** The entry of the root that it belongs to. */
  entry: MeasuredEntry
  /** The contexts that contain it, the outermost first. */
  contexts: ContextLine[]
  /** The record that tracks a path elsewhere; null for a path in the root. */
  tracked: TrackedLine | null
}

/** Finds out which run made a path; undefined if the path is neither in the root nor tracked by a run. */
export async function tracePath(path: string, now: number): Promise<TracedPath | undefined> {
  const root = findRoot()
  if (root === undefined) return undefined
  try {
    return await traceIn(root, path, now)
  } catch (error) {
    throw codedError(error, `look at ${root.path}`)
  }
}

async function traceIn(root: ScratchRoot, path: string, now: number): Promise<TracedPath | undefined> {
  // The root is listed by its real path.
  const target = realParentPath(resolve(path))
  const entries = await listEntries(root, now)
  const inside = entries.find((entry) => isWithin(target, entry.path))
  const tracked = inside === undefined ? findTracked(root, target) : undefined
  const entry = inside ?? entries.find((entry) => entry.path === tracked?.record)
  if (entry === undefined) return undefined
  return {
    path: target,
    exists: exists(target),
    entry: await measureEntry(entry),
    contexts:
      inside === undefined
        ? []
        : contextsContaining(relative(inside.path, target), readContexts(inside.path)),
    tracked: tracked?.line ?? null,
  }
}

/** The record that covers a path most closely. */
function findTracked(root: ScratchRoot, target: string): { record: string; line: TrackedLine } | undefined {
  const candidates = listIfReadable(root.tracked).flatMap((name) => {
    const record = join(root.tracked, name)
    return readTrackedLines(root, name)
      .filter((line) => isWithin(target, realParentPath(line.path)))
      .map((line) => ({ record, line }))
  })
  // A line that still matches the file takes precedence over one whose file was replaced.
  candidates.sort(
    (a, b) => Number(b.line.sweepable) - Number(a.line.sweepable) || b.line.path.length - a.line.path.length,
  )
  return candidates[0]
}
