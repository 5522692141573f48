import { join } from 'node:path'
import { type Clock, systemClock } from '../base/process/clock.ts'
import { readable } from '../base/fs/byte-path.ts'
import { runToEnd, runInTurns } from '../base/process/run-generator.ts'
import { errorCode } from '../base/errors/stint-error.ts'
import type { ScratchRoot } from '../scratch/root.ts'
import { removeEntry } from './dispose.ts'
import { type Judged, judgeEntry } from './judge-entry.ts'
import { type SweptListing, listSwept, directoriesIn, type SweepScope } from './places.ts'
import { emptyReport, type SweepReport } from './report.ts'
import { markSuperseded } from './superseded.ts'
import { keepIfTooYoung } from './verdict.ts'

export interface SweepOptions {
  root?: ScratchRoot
  /** What to look at: everything that dead runs leave (`all`), or a part of it. */
  scope?: SweepScope
  /** Removes only what has not changed for this long. Never makes anything else removable. */
  olderThanMs?: number
  /** Report what would be removed, and change nothing. */
  dryRun?: boolean
  /** Stop after this many milliseconds; what is left is for the next sweep. */
  budgetMs?: number
  clock?: Clock
  /** Called now and then with how far it is. */
  onProgress?: (progress: SweepProgress) => void
}

export interface SweepProgress {
  /** Entries looked at, of all there are. */
  done: number
  total: number
  bytesFreed: number
}

/** A sweep with a budget removes at most this many entries of one tree: a large one must not use up all the time. */
const limitInAHurry = 500

/**
 * Removes what dead runs left behind, giving way to the event loop.
 *
 * @example
 * const { removed, bytesFreed } = await sweep({ dryRun: true })
 */
export const sweep = (options: SweepOptions = {}): Promise<SweepReport> => runInTurns(sweepSteps(options))

/**
 * Removes what dead runs left behind, in one go.
 *
 * @example
 * const { removed } = sweepSync({ budgetMs: 25 })
 */
export const sweepSync = (options: SweepOptions = {}): SweepReport => runToEnd(sweepSteps(options))

function* sweepSteps(options: SweepOptions): Generator<void, SweepReport> {
  const report = emptyReport()
  const progress = { done: 0, total: 0 }
  const steps = goThrough(options, report, progress)
  for (;;) {
    const { done } = steps.next()
    options.onProgress?.({ ...progress, bytesFreed: report.bytesFreed })
    if (done) return report
    yield
  }
}

function* goThrough(
  options: SweepOptions,
  report: SweepReport,
  progress: { done: number; total: number },
): Generator<void> {
  const clock = options.clock ?? systemClock
  const end = clock.mono() + (options.budgetMs ?? Number.POSITIVE_INFINITY)
  const places = directoriesIn(options.scope ?? 'all', options)
  const listings = places.map((place) => listSwept(place, options))
  progress.total = listings.reduce((sum, { names }) => sum + names.length, 0)

  noteOddNames(listings, report)
  const keptOnPurpose: Judged[] = []
  const seen = new Set<string>()
  for (const { place, names } of listings) {
    for (const name of startSomewhere(names, options.budgetMs)) {
      yield
      if (clock.mono() > end) {
        report.complete = false
        return
      }
      progress.done += 1
      // A record goes with its scratch; only what is left of others is looked at by itself.
      if (place.kind === 'tracked' && seen.has(name)) continue
      seen.add(name)
      try {
        const judged = yield* judgeEntry(place, name, clock.now())
        if (judged?.verdict.reason === 'kept-on-purpose') keptOnPurpose.push(judged)
        else if (judged !== undefined) yield* settle(judged, clock.now(), options, report)
      } catch (error) {
        // One that cannot even be looked at must not stop the rest.
        const path = join(place.directory, name)
        report.failures.push({ path, type: 'directory', error: errorCode(error) ?? String(error) })
      }
    }
  }
  for (const judged of markSuperseded(keptOnPurpose)) yield* settle(judged, clock.now(), options, report)
}

/** Our names are plain ASCII: what else is there is not ours to touch. */
function noteOddNames(listings: readonly SweptListing[], report: SweepReport): void {
  for (const { place, odd } of listings)
    for (const name of odd)
      report.kept.push({ path: join(place.directory, readable(name)), reason: 'not-stint' })
}

/** Removes an entry, or says why not. */
function* settle(judged: Judged, now: number, options: SweepOptions, report: SweepReport): Generator<void> {
  const { path, candidate } = judged
  const { dryRun, budgetMs, olderThanMs } = options
  const { remove, reason } = keepIfTooYoung(judged.verdict, candidate.changedAt, now, olderThanMs)
  if (!remove) report.kept.push({ path, reason })
  else {
    const limit = budgetMs === undefined ? undefined : limitInAHurry
    yield* removeEntry(judged, reason, { dryRun, limit }, report)
  }
}

/** A sweep with a budget must not spend it on the same living runs every time. */
function startSomewhere(names: readonly string[], budgetMs: number | undefined): readonly string[] {
  if (budgetMs === undefined || names.length < 2) return names
  const start = Math.floor(Math.random() * names.length)
  return [...names.slice(start), ...names.slice(0, start)]
}
