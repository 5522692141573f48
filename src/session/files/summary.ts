import { SpaceCounter } from '../../base/fs/disk-space.ts'
import { isCount } from '../../base/text/fields.ts'
import { keptEpochs } from '../../lease/index.ts'
import { sessionState } from '../holder.ts'
import type { LogFiles } from '../log/log-files.ts'
import { readBackwards } from '../log/read.ts'
import type { LogRecord } from '../log/record.ts'
import { attestedBy, type Manifest, summarize } from '../manifest.ts'
import type { SessionSummary } from '../store.ts'
import { measureSession } from './disk-use.ts'
import type { SessionDirectory } from './session-directory.ts'
import { lockKey, type ObservedLock } from './session-lock.ts'

/** Reads the summary of a session, in steps. The lock must have been observed before the manifest was. */
export function* readSummary(
  directory: SessionDirectory,
  manifest: Manifest,
  { record, standing, epoch }: ObservedLock,
): Generator<void, SessionSummary> {
  const isLeftOut = (path: string): boolean => isPassing(path, epoch)
  const { root } = directory.paths
  const use = yield* measureSession(root, manifest.session_id, new SpaceCounter(), isLeftOut)
  const last = lastRecord(directory.logs.journal, attestedBy(manifest).seq)
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

function lastRecord(files: LogFiles, attested: number): LogRecord | undefined {
  // Returning from `for…of` runs the generator's cleanup, which closes the file.
  for (const record of readBackwards(files, { attested })) return record
  return undefined
}

/**
 * Is this path left out of the size? Of the lock, only the epochs count that stay after a release: the
 * process that has released it may still be deleting older ones.
 */
function isPassing(path: string, epoch: number): boolean {
  const [name, inner] = path.split('/', 2)
  return name === lockKey && Number(inner) <= epoch - keptEpochs
}
