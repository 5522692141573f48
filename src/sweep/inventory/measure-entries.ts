import { systemClock } from '../../base/process/clock.ts'
import { isWithin } from '../../base/fs/paths.ts'
import { measureSteps, type TreeSize } from '../../base/fs/measure-tree.ts'
import { runInTurns } from '../../base/process/run-generator.ts'
import { findRoot } from '../../scratch/root.ts'
import type { TempEntry, MeasuredEntry } from './entry.ts'
import { listEntries } from './list-entries.ts'
import type { TrackedLine } from './tracked-line.ts'

/**
 * Everything in this user's root with its size, giving way to the event loop; nothing if there is no root. Whoever cannot wait says how long sizes may
 * take.
 */
export async function measureEntries(
  now: number = Date.now(),
  withinMs: number = Number.POSITIVE_INFINITY,
): Promise<MeasuredEntry[]> {
  const end = systemClock.mono() + withinMs
  const root = findRoot()
  if (root === undefined) return []
  const entries: MeasuredEntry[] = []
  for (const entry of await runInTurns(listEntries(root, now)))
    entries.push(await measureEntry(entry, () => systemClock.mono() > end))
  return entries
}

/** With what a sweep would free: of tracked paths, what they lead to. */
export async function measureEntry(entry: TempEntry, isLate = (): boolean => false): Promise<MeasuredEntry> {
  const size: TreeSize = { files: 0, directories: 0, bytes: 0 }
  for (const path of entry.kind === 'tracked' ? sweepablePaths(entry.tracks) : [entry.path]) {
    if (isLate()) break
    const { files, directories, bytes } = await runInTurns(measureSteps(path, { enough: isLate }))
    size.files += files
    size.directories += directories
    size.bytes += bytes
  }
  return { ...entry, ...size, ...(isLate() && { partial: true }) }
}

/** What lies in another tracked path is counted there. */
function sweepablePaths(tracks: readonly TrackedLine[]): string[] {
  const paths = [...new Set(tracks.filter(({ sweepable }) => sweepable).map(({ path }) => path))]
  return paths.filter((path) => !paths.some((outer) => outer !== path && isWithin(path, outer)))
}
