import { basename, join } from 'node:path'
import { exists, isRealDirectory } from '../base/fs/exists.ts'
import { type DiskSpace, measureSteps, type SpaceCounter } from '../base/fs/measure-tree.ts'
import { nothingRemoved, type Removal, type RemovalFailure } from '../base/fs/remove-tree.ts'
import { runInTurns } from '../base/process/event-loop.ts'
import { isRequestId } from '../base/text/id.ts'
import { listTracked, removeDeadTracked, deleteTrackedRecord } from '../scratch/tracked-record.ts'
import { removeViaTrashSteps } from '../scratch/trash.ts'
import type { JudgedEntry } from './judge-entry.ts'
import type { SweptDirectory } from './swept-directories.ts'
import type { EntryFacts, KeepReason, RemoveReason } from './verdict.ts'

/** The result of a sweep: removed and kept entries, and failures. */
export interface SweepReport {
  removed: ({ path: string; type: EntryFacts['type']; reason: RemoveReason } & DiskSpace)[]
  kept: { path: string; reason: KeepReason }[]
  failures: RemovalFailure[]
  /** The length of the removed files, in bytes. */
  bytesFreed: number
  /** What the disk has got back, in bytes: the blocks of files without another name, and of directories. */
  diskBytesFreed: number
  /** Files and directories removed, including those inside the listed entries; 0 in a dry run. */
  entriesRemoved: number
  /** False if the sweep ran out of its time budget. */
  complete: boolean
}

export const emptyReport = (): SweepReport => ({
  removed: [],
  kept: [],
  failures: [],
  bytesFreed: 0,
  diskBytesFreed: 0,
  entriesRemoved: 0,
  complete: true,
})

/** Adds the removal of one entry to the report. */
export function addToReport(
  report: SweepReport,
  entry: Omit<SweepReport['removed'][number], keyof DiskSpace>,
  { bytes, disk_bytes, removed, complete, failures }: Removal,
): void {
  report.bytesFreed += bytes
  report.diskBytesFreed += disk_bytes
  report.entriesRemoved += removed
  report.complete &&= complete
  // Not `push(...failures)`: a few hundred thousand arguments overflow the stack.
  for (const failure of failures) report.failures.push(failure)
  if (complete && failures.length === 0) report.removed.push({ ...entry, bytes, disk_bytes })
}

export interface RemoveEntryOptions {
  /** Reports what would be removed, measured by this counter, and changes nothing. */
  dryRun?: SpaceCounter
  /** Removes at most this many entries of a tree now; the rest waits in the trash. */
  limit?: number
  /** Called repeatedly during a removal, which it ends if it throws. */
  onTurn?: () => void
}

/**
 * Removes the paths that a run tracks elsewhere, then the entry itself. In this order, because while the
 * scratch exists an interrupted sweep can start again.
 */
export async function removeEntry(
  { directory, path, facts }: Omit<JudgedEntry, 'verdict'>,
  reason: RemoveReason,
  options: RemoveEntryOptions,
  report: SweepReport,
): Promise<void> {
  await removeTrackedBy(directory, basename(path), options, report)
  if (directory.kind === 'tracked') {
    // `removeDeadTracked` deletes a record with its paths. An unfinished rewrite has none.
    if (!options.dryRun && !isRequestId(basename(path)) && directory.root !== undefined)
      deleteTrackedRecord(directory.root, basename(path))
    return
  }
  const removal = options.dryRun
    ? await measureOnly(path, options.dryRun)
    : await runInTurns(
        removeViaTrashSteps(directory.root ?? { trash: directory.path }, path, {
          measure: true,
          limit: options.limit,
        }),
        options.onTurn,
      )
  addToReport(report, { path, type: facts.type, reason }, removal)
}

async function removeTrackedBy(
  { kind, root }: SweptDirectory,
  name: string,
  { dryRun, limit, onTurn }: RemoveEntryOptions,
  report: SweepReport,
): Promise<void> {
  if (root === undefined || !isRequestId(name)) return
  // A trash entry may have the name of a run that still exists; that run's tracked paths stay.
  if (kind === 'trash' && exists(join(root.runs, name))) return
  const reason = 'tracked'
  if (dryRun) {
    for (const { path, sweepable } of listTracked(root, name)) {
      if (!sweepable) continue
      const type = isRealDirectory(path) ? 'directory' : 'file'
      addToReport(report, { path, type, reason }, await measureOnly(path, dryRun))
    }
    return
  }
  const removed = await runInTurns(removeDeadTracked(root, name, { measure: true, limit }), onTurn)
  for (const { path, type, removal } of removed) addToReport(report, { path, type, reason }, removal)
}

async function measureOnly(path: string, counter: SpaceCounter): Promise<Removal> {
  const { bytes, disk_bytes } = await runInTurns(measureSteps(path, { counter }))
  return { ...nothingRemoved(), bytes, disk_bytes }
}
