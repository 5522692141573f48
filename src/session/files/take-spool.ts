import type { Disk } from '../../base/fs/disk.ts'
import type { SpoolEntry } from '../driver.ts'
import { withFileErrors } from './session-file-errors.ts'
import type { SessionPaths } from './paths.ts'
import { removeSpoolFiles, spoolMark, readSpoolFile, quarantineSpoolFile, listSpoolFiles } from './spool.ts'

/** Takes in what visitors have left, each entry once: `spooled` has the marks of those that are in the logs already. */
export async function takeSpool(
  disk: Disk,
  paths: SessionPaths,
  spooled: Set<string>,
  take: (entry: SpoolEntry) => Promise<void>,
): Promise<void> {
  const done: string[] = []
  const found: { entry: SpoolEntry; mark: string }[] = []
  for (const name of listSpoolFiles(disk, paths)) {
    const entries = readSpoolFile(disk, paths, name)
    if (entries === undefined) {
      withFileErrors('set a spool file aside', paths.root, () => quarantineSpoolFile(disk, paths, name))
      continue
    }
    for (const [i, entry] of entries.entries()) found.push({ entry, mark: spoolMark(name, i) })
    done.push(name)
  }
  if (done.length === 0) return
  // All at once: they share a sync.
  const fresh = found.filter(({ mark }) => !spooled.has(mark))
  await Promise.all(fresh.map(({ entry, mark }) => take({ ...entry, spool: mark })))
  withFileErrors('clear the spool', paths.root, () => removeSpoolFiles(disk, paths, done))
  for (const { mark } of found) spooled.delete(mark)
}
