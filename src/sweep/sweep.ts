import { join } from 'node:path'
import { errorCode } from '../base/errors/stint-error.ts'
import { SpaceCounter } from '../base/fs/measure-tree.ts'
import { type Clock, systemClock } from '../base/process/clock.ts'
import { runInTurns, runToEnd } from '../base/process/event-loop.ts'
import { ownedRun } from '../scratch/owner.ts'
import type { ScratchRoot } from '../scratch/root.ts'
import { type JudgedEntry, judgeEntry, markSuperseded } from './judge-entry.ts'
import { removeEntry, type RemoveEntryOptions, emptyReport, type SweepReport } from './remove-entry.ts'
import { type SweepScope, directoriesIn, listSwept } from './swept-directories.ts'
import { keepIfTooYoung } from './verdict.ts'

export interface SweepOptions {
  root?: ScratchRoot
  /** The part to sweep. By default everything that dead runs leave (`all`). */
  scope?: SweepScope
  /** Removes only what has not changed for this many milliseconds. Never makes anything else removable. */
  olderThanMs?: number
  /** Reports what would be removed, and changes nothing. */
  dryRun?: boolean
  /** Stops after this many milliseconds, but removes at least one entry of each directory. */
  budgetMs?: number
  clock?: Clock
  /** Called repeatedly while the sweep is under way. If it throws, the sweep ends with that error. */
  onProgress?: (progress: SweepProgress) => void
}

export interface SweepProgress {
  /** Number of entries judged so far. A scratch and the record of its owner are one. */
  done: number
  /** Number of entries in all swept directories. */
  total: number
  /** The length of the files removed so far, and what the disk has got back; in bytes. */
  bytesFreed: number
  diskBytesFreed: number
}

/**
 * Whatever its budget, a sweep removes one entry of each directory, or judges this many: listing a full root
 * alone may use the budget up, and a run that has just ended is in the trash, where its guard removes it.
 */
const leastEntries = 100

/** With a time budget, at most this many entries of one tree: a large one must leave time for others. */
const entriesPerTreeInBudget = 500

/** Sweeps, giving way to the event loop. */
export const sweep = (options: SweepOptions = {}): Promise<SweepReport> => runInTurns(sweepSteps(options))

/** Sweeps at once. */
export const sweepSync = (options: SweepOptions = {}): SweepReport => runToEnd(sweepSteps(options))

function* sweepSteps(options: SweepOptions): Generator<void, SweepReport> {
  const report = emptyReport()
  const progress = { done: 0, total: 0 }
  const steps = sweepDirectories(options, report, progress)
  try {
    for (;;) {
      const { done } = steps.next()
      const { bytesFreed, diskBytesFreed } = report
      options.onProgress?.({ ...progress, bytesFreed, diskBytesFreed })
      if (done) return report
      yield
    }
  } finally {
    // After an error in `onProgress`, this closes the directories that the removal holds open.
    steps.return(undefined)
  }
}

function* sweepDirectories(
  options: SweepOptions,
  report: SweepReport,
  progress: { done: number; total: number },
): Generator<void> {
  const clock = options.clock ?? systemClock
  const end = clock.mono() + (options.budgetMs ?? Number.POSITIVE_INFINITY)
  const removal: RemoveEntryOptions & Pick<SweepOptions, 'olderThanMs'> = {
    dryRun: options.dryRun ? new SpaceCounter('last') : undefined,
    limit: options.budgetMs === undefined ? undefined : entriesPerTreeInBudget,
    olderThanMs: options.olderThanMs,
  }
  const directories = directoriesIn(options.scope ?? 'all', options)
  const listings = directories.map((directory) => listSwept(directory))
  progress.total = listings.reduce((sum, { names }) => sum + names.filter(isCounted).length, 0)

  const keptOnPurpose: JudgedEntry[] = []
  const seen = new Set<string>()
  let isLate = false
  for (const { directory, names } of listings) {
    const removedBefore = report.entriesRemoved
    for (const [index, name] of fromRandomStart(names, options.budgetMs).entries()) {
      yield
      if (clock.mono() > end && (report.entriesRemoved > removedBefore || index >= leastEntries)) {
        isLate = true
        break
      }
      if (isCounted(name)) progress.done += 1
      // The record of tracked paths was handled with the scratch of the same name.
      if (directory.kind === 'tracked' && seen.has(name)) continue
      seen.add(name)
      try {
        const judged = yield* judgeEntry(directory, name, clock.now())
        if (judged?.verdict.reason === 'kept-on-purpose') keptOnPurpose.push(judged)
        else if (judged !== undefined) yield* applyVerdict(judged, clock.now(), removal, report)
      } catch (error) {
        // An entry that cannot be inspected must not stop the sweep of the rest.
        const path = join(directory.path, name)
        report.failures.push({ path, type: 'directory', error: errorCode(error) ?? String(error) })
      }
    }
  }
  if (isLate) {
    report.complete = false
    return
  }
  for (const judged of markSuperseded(keptOnPurpose))
    yield* applyVerdict(judged, clock.now(), removal, report)
}

/** The record of an owner goes with its scratch. */
const isCounted = (name: string): boolean => ownedRun(name) === undefined

/** Removes an entry, or reports why it stays. */
function* applyVerdict(
  judged: JudgedEntry,
  now: number,
  { olderThanMs, ...removal }: RemoveEntryOptions & Pick<SweepOptions, 'olderThanMs'>,
  report: SweepReport,
): Generator<void> {
  const { path, facts } = judged
  const { remove, reason } = keepIfTooYoung(judged.verdict, facts.changedAt, now, olderThanMs)
  if (!remove) report.kept.push({ path, reason })
  else yield* removeEntry(judged, reason, removal, report)
}

/** Starts at a random name, so that sweeps with a budget do not spend it on the same living runs. */
function fromRandomStart(names: readonly string[], budgetMs: number | undefined): readonly string[] {
  if (budgetMs === undefined || names.length < 2) return names
  const start = Math.floor(Math.random() * names.length)
  return [...names.slice(start), ...names.slice(0, start)]
}
