import { basename, join } from 'node:path'
import { isRequestId } from '../base/text/id.ts'
import { measureSteps } from '../base/fs/measure-tree.ts'
import { isRealDirectory, exists } from '../base/fs/exists.ts'
import { nothingRemoved, type Removal } from '../base/fs/remove-tree.ts'
import { removeDeadTracked, listRemovableTracked } from '../scratch/dead-tracked.ts'
import { removeViaTrashSteps } from '../scratch/trash.ts'
import { deleteTrackedRecord } from '../scratch/tracked-record.ts'
import type { Judged } from './judge-entry.ts'
import type { SweptDirectory } from './places.ts'
import { addToReport, type SweepReport } from './report.ts'
import type { RemoveReason } from './verdict.ts'

export interface RemoveEntryOptions {
  /** Say what would go, change nothing. */
  dryRun?: boolean
  /** Remove at most this many entries of a tree now; the rest waits in the trash. */
  limit?: number
}

/** Removes what a run tracks elsewhere, then the entry itself. In this order: while the scratch is there, a sweep that was interrupted here can begin again. */
export function* removeEntry(
  { place, path, candidate }: Omit<Judged, 'verdict'>,
  reason: RemoveReason,
  options: RemoveEntryOptions,
  report: SweepReport,
): Generator<void> {
  yield* disposeTracked(place, basename(path), options, report)
  if (place.kind === 'tracked') {
    // The record has gone with what it names. An unfinished one names nothing, and goes by itself.
    if (!options.dryRun && !isRequestId(basename(path)) && place.root !== undefined)
      deleteTrackedRecord(place.root, basename(path))
    return
  }
  const removal = options.dryRun
    ? yield* wouldRemove(path)
    : yield* removeViaTrashSteps(place.root ?? { trash: place.directory }, path, {
        measure: true,
        limit: options.limit,
      })
  addToReport(report, { path, type: candidate.type, reason }, removal)
}

function* disposeTracked(
  { kind, root }: SweptDirectory,
  name: string,
  { dryRun, limit }: RemoveEntryOptions,
  report: SweepReport,
): Generator<void> {
  if (root === undefined || !isRequestId(name)) return
  // Something in the trash by the name of a run that is still there: what that run tracks is not ours to take.
  if (kind === 'trash' && exists(join(root.path, name))) return
  const reason = 'tracked'
  if (dryRun) {
    for (const { path } of listRemovableTracked(root, name)) {
      const type = isRealDirectory(path) ? 'directory' : 'file'
      addToReport(report, { path, type, reason }, yield* wouldRemove(path))
    }
    return
  }
  const gone = yield* removeDeadTracked(root, name, { measure: true, limit })
  for (const { path, type, removal } of gone) addToReport(report, { path, type, reason }, removal)
}

function* wouldRemove(path: string): Generator<void, Removal> {
  const { bytes } = yield* measureSteps(path)
  return { ...nothingRemoved(), bytes }
}
