import { codedError } from '../../base/errors/stint-error.ts'
import { SpaceCounter, measureSteps, type TreeSize } from '../../base/fs/measure-tree.ts'
import { isWithin } from '../../base/fs/paths.ts'
import { systemClock } from '../../base/process/clock.ts'
import { runInTurns } from '../../base/process/event-loop.ts'
import { findRoot } from '../../scratch/root.ts'
import type { MeasuredEntry, TempEntry, TrackedLine } from './entry.ts'
import { listEntries } from './list-entries.ts'

/**
 * Lists and measures everything in this user's root, giving way to the event loop; empty if there is no root.
 * After `withinMs` milliseconds it stops counting, and the sizes are lower bounds (`partial`).
 */
export async function measureEntries(
  now: number = Date.now(),
  withinMs: number = Number.POSITIVE_INFINITY,
): Promise<MeasuredEntry[]> {
  const end = systemClock.mono() + withinMs
  const root = findRoot()
  if (root === undefined) return []
  const entries: MeasuredEntry[] = []
  const counter = new SpaceCounter()
  try {
    for (const entry of await runInTurns(listEntries(root, now)))
      entries.push(await measureEntry(entry, () => systemClock.mono() > end, counter))
  } catch (error) {
    throw codedError(error, `look at ${root.path}`)
  }
  return entries
}

/** Adds what a sweep would free: for a record of tracked paths, the size of these paths. */
export async function measureEntry(
  entry: TempEntry,
  isLate = (): boolean => false,
  counter: SpaceCounter = new SpaceCounter(),
): Promise<MeasuredEntry> {
  const size: TreeSize = { files: 0, directories: 0, bytes: 0, disk_bytes: 0 }
  for (const path of entry.kind === 'tracked' ? sweepablePaths(entry.tracks) : [entry.path]) {
    if (isLate()) break
    const measured = await runInTurns(measureSteps(path, { enough: isLate, counter }))
    size.files += measured.files
    size.directories += measured.directories
    size.bytes += measured.bytes
    size.disk_bytes += measured.disk_bytes
  }
  return { ...entry, ...size, ...(isLate() && { partial: true }) }
}

/** The tracked paths that are in no other one, so that nothing is counted twice. */
function sweepablePaths(tracks: readonly TrackedLine[]): string[] {
  const paths = [...new Set(tracks.filter(({ sweepable }) => sweepable).map(({ path }) => path))]
  return paths.filter((path) => !paths.some((outer) => outer !== path && isWithin(path, outer)))
}
