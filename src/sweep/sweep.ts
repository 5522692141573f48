import { basename, join } from 'node:path'
import { type Clock, systemClock } from '../primitives/clock.ts'
import { measureSteps } from '../primitives/measure-tree.ts'
import { drain, drainInTurns, type Removal, type RemovalFailure } from '../primitives/remove-tree.ts'
import { discardSteps } from '../scratch/discard.ts'
import { keptScratches } from '../scratch/keep.ts'
import type { ScratchRoot } from '../scratch/root.ts'
import { removeDeadTracked } from '../scratch/tracked.ts'
import { examine } from './candidate.ts'
import { namesIn, type Place, placesOf, type SweepScope } from './places.ts'
import { type Candidate, type KeepReason, onlyOlder, type RemoveReason, verdict } from './verdict.ts'

export interface SweepOptions {
  root?: ScratchRoot
  /** What to look at: everything that dead runs leave (`all`), or a part of it. */
  scope?: SweepScope
  /** Of what may go, only what has not changed for this long. Never makes anything removable. */
  olderThanMs?: number
  /** Say what would go, change nothing. */
  dryRun?: boolean
  /** Stop after this many milliseconds; what is left is for the next sweep. */
  budgetMs?: number
  clock?: Clock
  /** Told every now and then how far it is. */
  onProgress?: (progress: SweepProgress) => void
}

export interface SweepProgress {
  /** Entries looked at, of all there are. */
  done: number
  total: number
  bytesFreed: number
}

export interface SweepReport {
  removed: { path: string; type: Candidate['type']; bytes: number; reason: RemoveReason | 'superseded' }[]
  kept: { path: string; reason: KeepReason }[]
  failures: RemovalFailure[]
  bytesFreed: number
  /** Files and directories that went, also those inside of what is listed; 0 in a dry run. */
  entriesRemoved: number
  /** False if the budget ended it. */
  complete: boolean
}

/**
 * Removes what dead runs left behind, giving way to the event loop.
 *
 * @example
 * const { removed, bytesFreed } = await sweep({ dryRun: true })
 */
export const sweep = (options: SweepOptions = {}): Promise<SweepReport> => drainInTurns(sweepSteps(options))

/** The same in one go. */
export const sweepSync = (options: SweepOptions = {}): SweepReport => drain(sweepSteps(options))

function* sweepSteps(options: SweepOptions): Generator<void, SweepReport> {
  const report: SweepReport = {
    removed: [],
    kept: [],
    failures: [],
    bytesFreed: 0,
    entriesRemoved: 0,
    complete: true,
  }
  const progress = { done: 0, total: 0 }
  const steps = goThrough(options, report, progress)
  for (;;) {
    const { done } = steps.next()
    options.onProgress?.({ ...progress, bytesFreed: report.bytesFreed })
    if (done) return report
    yield
  }
}

/** What is known of an entry that may have to go. */
interface Entry {
  place: Place
  path: string
  candidate: Candidate
}

function* goThrough(
  options: SweepOptions,
  report: SweepReport,
  progress: { done: number; total: number },
): Generator<void> {
  const clock = options.clock ?? systemClock
  const end = clock.mono() + (options.budgetMs ?? Number.POSITIVE_INFINITY)
  const keptOnPurpose: Entry[] = []
  const listed = placesOf(options.scope ?? 'all', options).map((place) => ({ place, names: namesIn(place) }))
  progress.total = listed.reduce((sum, { names }) => sum + names.length, 0)

  for (const { place, names } of listed) {
    for (const name of startSomewhere(names, options.budgetMs)) {
      yield
      if (clock.mono() > end) {
        report.complete = false
        return
      }
      progress.done += 1
      const candidate = examine(place, name)
      if (candidate === undefined) continue
      const entry = { place, path: join(place.directory, name), candidate }
      const now = clock.now()
      const { remove, reason } = onlyOlder(
        verdict(candidate, now),
        candidate.changedAt,
        now,
        options.olderThanMs,
      )
      if (remove) yield* dispose(entry, reason, options, report)
      else if (reason !== 'kept-on-purpose') report.kept.push({ path: entry.path, reason })
      else keptOnPurpose.push(entry)
    }
  }
  yield* retainNewest(keptOnPurpose, clock.now(), options, report)
}

/** A sweep with a budget must not spend it on the same living runs every time. */
function startSomewhere(names: string[], budgetMs: number | undefined): string[] {
  if (budgetMs === undefined || names.length < 2) return names
  const start = Math.floor(Math.random() * names.length)
  return [...names.slice(start), ...names.slice(0, start)]
}

function* dispose(
  { place, path, candidate }: Entry,
  reason: SweepReport['removed'][number]['reason'],
  options: SweepOptions,
  report: SweepReport,
): Generator<void> {
  const removals = options.dryRun ? [yield* wouldRemove(path)] : yield* really(place, path, options)
  let bytes = 0
  let failed = false
  for (const removal of removals) {
    bytes += removal.bytes
    report.entriesRemoved += removal.removed
    report.complete &&= removal.complete
    failed ||= removal.failures.length > 0 || !removal.complete
    // One at a time: as arguments of a call, a few hundred thousand are too many.
    for (const failure of removal.failures) report.failures.push(failure)
  }
  report.bytesFreed += bytes
  if (!failed) report.removed.push({ path, type: candidate.type, bytes, reason })
}

function* wouldRemove(path: string): Generator<void, Removal> {
  const { bytes } = yield* measureSteps(path)
  return { removed: 0, bytes, failures: [], complete: true }
}

/** First what it tracks elsewhere: as long as the scratch is there, a sweep that was ended here begins again. */
function* really(
  { root, directory }: Place,
  path: string,
  { budgetMs }: SweepOptions,
): Generator<void, Removal[]> {
  // A large tree must not use up more than a small sweep's time: the rest waits in the trash.
  const limit = budgetMs === undefined ? undefined : 500
  const tracked = root === undefined ? [] : [removeDeadTracked(root, path)]
  return [...tracked, yield* discardSteps(root ?? { trash: directory }, path, { measure: true, limit })]
}

/** Scratches kept on purpose: the newest stay, older ones go. */
function* retainNewest(
  kept: Entry[],
  now: number,
  options: SweepOptions,
  report: SweepReport,
): Generator<void> {
  const createdAt = ({ candidate }: Entry): number => candidate.owner?.createdAt ?? 0
  kept.sort((a, b) => createdAt(b) - createdAt(a) || basename(b.path).localeCompare(basename(a.path)))
  for (const [index, entry] of kept.entries()) {
    const { path, candidate } = entry
    if (index < keptScratches) report.kept.push({ path, reason: 'kept-on-purpose' })
    else if (now - candidate.changedAt < (options.olderThanMs ?? Number.NEGATIVE_INFINITY))
      report.kept.push({ path, reason: 'too-young' })
    else yield* dispose(entry, 'superseded', options, report)
  }
}
