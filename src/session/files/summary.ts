import { SpaceCounter } from '../../base/fs/measure-tree.ts'
import { isCount } from '../../base/text/fields.ts'
import { sessionState } from '../holder.ts'
import { type CheckedHeader, linesBackwards } from '../log/record.ts'
import { headName, parseHead } from '../log/snapshot.ts'
import { attestedBy, type Manifest, summarize } from '../manifest.ts'
import type { SessionSummary } from '../store.ts'
import { measureSession } from './disk-use.ts'
import { backwardRegions } from './regions.ts'
import type { SessionDirectory } from './session-directory.ts'
import type { ObservedLock } from './session-lock.ts'

/** Reads the summary of a session, in steps. The lock must have been observed before the manifest was. */
export function* readSummary(
  directory: SessionDirectory,
  manifest: Manifest,
  { record, standing }: ObservedLock,
): Generator<void, SessionSummary> {
  const use = yield* measureSession(directory.paths.root, manifest.session_id, new SpaceCounter())
  const last = lastRecordIn(directory, manifest)
  return summarize(manifest, {
    state: sessionState(standing, record?.holder, directory.damageNote() !== undefined),
    lastAt: last?.at,
    // As of the snapshot or the last close, without replaying the records after it.
    turns: Math.max(
      parseHead(directory.state.read([headName]).get(headName))?.turns ?? 0,
      closedTurns(manifest),
    ),
    records: last?.seq ?? 0,
    bytes: use.bytes,
    diskBytes: use.disk_bytes,
    holder: record?.holder,
  })
}

/** The turns that the last close has counted: it may have had no room for a snapshot. */
const closedTurns = ({ revisions }: Manifest): number =>
  revisions.findLast(({ turns }) => isCount(turns))?.turns ?? 0

/** The header of the last record of the journal that counts; undefined if there is none. */
export function lastRecordIn({ logs }: SessionDirectory, manifest: Manifest): CheckedHeader | undefined {
  const attested = attestedBy(manifest).seq
  // Returning from `for…of` runs the generator's cleanup, which closes the file.
  for (const region of backwardRegions(logs.journal))
    for (const { header } of linesBackwards(region))
      if (header !== undefined && (header.seq <= attested || !header.continued)) return header
  return undefined
}
