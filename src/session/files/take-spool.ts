import type { Disk } from '../../base/fs/disk.ts'
import type { SpoolEntry } from '../driver.ts'
import { explaining } from './session-file-errors.ts'
import type { SessionPaths } from './paths.ts'
import { clear, markOf, readSpool, setAside, waiting } from './spool.ts'

/** Takes in what visitors have left, each entry once: `spooled` has the marks of those that are in the logs already. */
export async function takeSpool(
  disk: Disk,
  paths: SessionPaths,
  spooled: Set<string>,
  takeIn: (entry: SpoolEntry, mark: string) => Promise<void>,
): Promise<void> {
  const done: string[] = []
  const found: { entry: SpoolEntry; mark: string }[] = []
  for (const name of waiting(disk, paths)) {
    const entries = readSpool(disk, paths, name)
    if (entries === undefined) {
      explaining('set a spool file aside', paths.root, () => setAside(disk, paths, name))
      continue
    }
    for (const [i, entry] of entries.entries()) found.push({ entry, mark: markOf(name, i) })
    done.push(name)
  }
  if (done.length === 0) return
  // All at once: they share a sync.
  const fresh = found.filter(({ mark }) => !spooled.has(mark))
  await Promise.all(fresh.map(({ entry, mark }) => takeIn(entry, mark)))
  explaining('clear the spool', paths.root, () => clear(disk, paths, done))
  for (const { mark } of found) spooled.delete(mark)
}
