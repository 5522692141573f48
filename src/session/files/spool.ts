import { join } from 'node:path'
import { publishFile } from '../../base/fs/atomic-file.ts'
import { ensureDirectory, listIfExists, readFile } from '../../base/fs/disk.ts'
import { ifExists } from '../../base/fs/exists.ts'
import { ulid } from '../../base/text/id.ts'
import type { SpoolEntry } from '../driver.ts'
import { isSpoolEntry } from '../make-entry.ts'
import type { SessionDirectory } from './session-directory.ts'
import { withFileErrors } from './session-file-errors.ts'

/** Leaves entries for the next holder of a session; on return they are on disk. File names sort by time. */
export function writeSpoolFile({ disk, paths }: SessionDirectory, entries: readonly SpoolEntry[]): void {
  ensureDirectory(disk, paths.spool)
  publishFile(join(paths.spool, `${ulid()}.json`), JSON.stringify(entries), disk)
}

/** The names of the spool files, oldest first. */
export const listSpoolFiles = ({ disk, paths }: SessionDirectory): string[] =>
  listIfExists(disk, paths.spool)
    .filter((name) => /^[0-9A-HJKMNP-TV-Z]{26}\.json$/.test(name))
    .sort()

/** Reads a spool file; undefined if it is missing or invalid. */
export function readSpoolFile({ disk, paths }: SessionDirectory, name: string): SpoolEntry[] | undefined {
  const text = readFile(disk, join(paths.spool, name))?.toString()
  if (text === undefined) return undefined
  try {
    const entries = JSON.parse(text) as unknown
    return Array.isArray(entries) && entries.every(isSpoolEntry) ? entries : undefined
  } catch {
    return undefined
  }
}

/**
 * Passes each spooled entry to `append`, and then removes the files. `spooled` has the ids of the entries
 * that are in the logs already: a crash may have come before their files were removed.
 */
export async function drainSpoolFiles(
  directory: SessionDirectory,
  spooled: Set<string>,
  append: (entry: SpoolEntry) => Promise<void>,
): Promise<void> {
  const { root } = directory.paths
  const drained: string[] = []
  const found: { entry: SpoolEntry; spoolId: string }[] = []
  withFileErrors('read the spool', root, () => {
    for (const name of listSpoolFiles(directory)) {
      const entries = readSpoolFile(directory, name)
      if (entries === undefined) {
        quarantine(directory, name)
        continue
      }
      for (const [i, entry] of entries.entries()) found.push({ entry, spoolId: `${spoolFileId(name)}/${i}` })
      drained.push(name)
    }
  })
  if (drained.length === 0) return
  // All at once, so that they share a sync.
  const fresh = found.filter(({ spoolId }) => !spooled.has(spoolId))
  await Promise.all(fresh.map(({ entry, spoolId }) => append({ ...entry, spool: spoolId })))
  withFileErrors('clear the spool', root, () => removeFiles(directory, drained))
  for (const { spoolId } of found) spooled.delete(spoolId)
}

/** Removes files and syncs: a crash must not bring back entries that were taken in long ago. */
function removeFiles({ disk, paths: { spool } }: SessionDirectory, names: readonly string[]): void {
  for (const name of names) ifExists(() => disk.unlink(join(spool, name)))
  disk.syncDirectory(spool)
}

/** Moves an invalid file out of the spool, where every holder would read it again. */
function quarantine({ disk, paths: { spool, quarantine: aside } }: SessionDirectory, name: string): void {
  ensureDirectory(disk, aside)
  ifExists(() => disk.rename(join(spool, name), join(aside, `spool-${name}`)))
  disk.syncDirectory(aside)
  disk.syncDirectory(spool)
}

/** The part that the name of a spool file and the ids of its entries share. */
export const spoolFileId = (nameOrId: string): string => nameOrId.slice(0, 26)
