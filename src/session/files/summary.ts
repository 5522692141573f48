import { SpaceCounter } from '../../base/fs/disk-space.ts'
import { isCount } from '../../base/text/fields.ts'
import { sessionState } from '../holder.ts'
import { readBackwards } from '../log/read.ts'
import type { LogRecord } from '../log/record.ts'
import { attestedBy, type Manifest, summarize } from '../manifest.ts'
import type { SessionSummary } from '../store.ts'
import { measureSession } from './disk-use.ts'
import type { SessionDirectory } from './session-directory.ts'
import type { ObservedLock } from './session-lock.ts'

/** Reads the summary of a session, in steps. The lock must have been observed before the manifest was. */
export function* readSummary(
  directory: SessionDirectory,
  manifest: Manifest,
  { record, standing }: ObservedLock,
): Generator<void, SessionSummary> {
  const use = yield* measureSession(directory.paths.root, manifest.session_id, new SpaceCounter())
  const last = lastRecord(directory, manifest)
  return summarize(manifest, {
    state: sessionState(standing, record?.holder, directory.isDamageNoted()),
    lastAt: last?.at,
    // As of the newest snapshot or close, without replaying the records after it.
    turns: Math.max(directory.snapshots.newest()?.turns ?? 0, closedTurns(manifest)),
    records: last?.seq ?? 0,
    bytes: use.bytes,
    diskBytes: use.disk_bytes,
    holder: record?.holder,
  })
}

/** The turns that the last close has counted: it may have had no room for a snapshot. */
const closedTurns = ({ revisions }: Manifest): number =>
  revisions.findLast(({ turns }) => isCount(turns))?.turns ?? 0

/** The last record of the journal; undefined if there is none. */
export function lastRecord({ logs }: SessionDirectory, manifest: Manifest): LogRecord | undefined {
  // Returning from `for…of` runs the generator's cleanup, which closes the file.
  for (const record of readBackwards(logs.journal, { attested: attestedBy(manifest).seq })) return record
  return undefined
}
