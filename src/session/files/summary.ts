import { lstatSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { diskBytesOf } from '../../base/fs/disk-space.ts'
import { isCount } from '../../base/text/fields.ts'
import { sessionState } from '../holder.ts'
import type { LogFiles } from '../log/log-files.ts'
import { readBackwards } from '../log/read.ts'
import type { LogRecord } from '../log/record.ts'
import { attestedBy, type Manifest, summarize } from '../manifest.ts'
import type { SessionSummary } from '../store.ts'
import type { SessionDirectory, SessionPaths } from './session-directory.ts'
import { lockKey, type ObservedLock } from './session-lock.ts'

/** Reads the summary of a session. The lock must have been observed before the manifest was read. */
export function readSummary(
  directory: SessionDirectory,
  manifest: Manifest,
  { record, standing }: ObservedLock,
): SessionSummary {
  const last = lastRecord(directory.logs.journal, attestedBy(manifest).seq)
  return summarize(manifest, {
    state: sessionState(standing, record?.holder, directory.isDamageNoted()),
    lastAt: last?.at,
    // As of the newest snapshot or close, without replaying the records after it.
    turns: Math.max(directory.snapshots.newest()?.turns ?? 0, closedTurns(manifest)),
    records: last?.seq ?? 0,
    ...spaceOf(directory.paths),
    holder: record?.holder,
  })
}

/** The turns that the last close has counted: it may have had no room for a snapshot. */
const closedTurns = ({ revisions }: Manifest): number =>
  revisions.findLast(({ turns }) => isCount(turns))?.turns ?? 0

function lastRecord(files: LogFiles, attested: number): LogRecord | undefined {
  // Returning from `for…of` runs the generator's cleanup, which closes the file.
  for (const record of readBackwards(files, { attested })) return record
  return undefined
}

/** The space of all files, without the spool, and without the lock, which changes after its release, too. */
function spaceOf({ root, spool }: SessionPaths): { bytes: number; diskBytes: number } {
  const skipped = new Set([spool, join(root, lockKey)])
  const space = { bytes: 0, diskBytes: diskBytesOf(lstatSync(root)) }
  const add = (directory: string): void => {
    for (const entry of readdirSync(directory, { withFileTypes: true })) {
      const path = join(directory, entry.name)
      if (skipped.has(path)) continue
      const stat = lstatSync(path, { throwIfNoEntry: false })
      if (stat === undefined) continue
      space.diskBytes += diskBytesOf(stat)
      if (entry.isDirectory()) add(path)
      else space.bytes += stat.size
    }
  }
  add(root)
  return space
}
