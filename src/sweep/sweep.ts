import { lstatSync } from 'node:fs'
import { basename, join } from 'node:path'
import { type Clock, systemClock } from '../primitives/clock.ts'
import { isRequestId } from '../primitives/id.ts'
import { measureSteps } from '../primitives/measure-tree.ts'
import type { Removal, RemovalFailure } from '../primitives/remove-tree.ts'
import { drain, drainInTurns } from '../primitives/steps.ts'
import { readable } from '../primitives/exact-path.ts'
import { errnoOf } from '../primitives/stint-error.ts'
import { removeDeadTracked, sweepableOf } from '../scratch/dead-tracked.ts'
import { discardSteps } from '../scratch/discard.ts'
import { keptScratches } from '../scratch/keep.ts'
import type { ScratchRoot } from '../scratch/root.ts'
import { isDirectory } from '../scratch/tracked.ts'
import { examine } from './candidate.ts'
import { oddNamesIn } from './odd-names.ts'
import { namesIn, type Place, placesOf, type SweepScope } from './places.ts'
import { touchedSince } from './recently-touched.ts'
import {
  type Candidate,
  type KeepReason,
  onlyOlder,
  type RemoveReason,
  unprovenAgeMs,
  verdict,
} from './verdict.ts'

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

  // Our names are plain ASCII: what else is there is not ours to touch.
  for (const { place } of listed)
    for (const name of oddNamesIn(place.directory))
      report.kept.push({ path: join(place.directory, readable(name)), reason: 'not-stint' })
  const seen = new Set<string>()
  for (const { place, names } of listed) {
    for (const name of startSomewhere(names, options.budgetMs)) {
      yield
      if (clock.mono() > end) {
        report.complete = false
        return
      }
      progress.done += 1
      const path = join(place.directory, name)
      // A record goes with its scratch; only what is left of others is looked at by itself.
      if (place.kind === 'tracked' && seen.has(name)) continue
      seen.add(name)
      try {
        const kept = yield* judge(place, path, clock.now(), options, report)
        if (kept !== undefined) keptOnPurpose.push(kept)
      } catch (error) {
        // One that cannot even be looked at must not stop the rest.
        report.failures.push({ path, type: 'directory', error: errnoOf(error) ?? String(error) })
      }
    }
  }
  yield* retainNewest(keptOnPurpose, clock.now(), options, report)
}

/** Removes it or says why not; returns it if it is kept on purpose: how many of those are, only all of them tell. */
function* judge(
  place: Place,
  path: string,
  now: number,
  options: SweepOptions,
  report: SweepReport,
): Generator<void, Entry | undefined> {
  const candidate = examine(place, basename(path))
  if (candidate === undefined) return undefined
  const entry = { place, path, candidate }
  const first = verdict(candidate, now)
  const { remove, reason } = onlyOlder(first, candidate.changedAt, now, options.olderThanMs)
  if (!remove) {
    if (reason === 'kept-on-purpose') return entry
    report.kept.push({ path, reason })
  } else if (isUnproven(reason) && (yield* touchedSince(path, now - unprovenAgeMs))) {
    report.kept.push({ path, reason: reason === 'ownerless-and-old' ? 'ownerless' : 'owner-unknown' })
  } else yield* dispose(entry, reason, options, report)
  return undefined
}

/** By age alone: then it must be the age of everything in it. */
const isUnproven = (reason: RemoveReason): boolean =>
  reason === 'unknown-and-old' || reason === 'ownerless-and-old'

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
  // First what it tracks elsewhere: as long as the scratch is there, a sweep that was ended here begins again.
  yield* disposeTracked(place, path, options, report)
  if (place.kind === 'tracked') return
  // A large tree must not use up more than a small sweep's time: the rest waits in the trash.
  const { root, directory } = place
  const removal = options.dryRun
    ? yield* wouldRemove(path)
    : yield* discardSteps(root ?? { trash: directory }, path, { measure: true, limit: limitOf(options) })
  note(report, { path, type: candidate.type, reason }, removal)
}

function* disposeTracked(
  { kind, root }: Place,
  path: string,
  options: SweepOptions,
  report: SweepReport,
): Generator<void> {
  const requestId = basename(path)
  if (root === undefined || !isRequestId(requestId)) return
  // Something in the trash by the name of a run that is still there: what that run tracks is not ours to take.
  if (kind === 'trash' && lstatSync(join(root.path, requestId), { throwIfNoEntry: false })) return
  const reason = 'tracked'
  if (options.dryRun) {
    for (const { path: elsewhere } of sweepableOf(root, requestId)) {
      const type = isDirectory(elsewhere) ? 'directory' : 'file'
      note(report, { path: elsewhere, type, reason }, yield* wouldRemove(elsewhere))
    }
    return
  }
  const gone = yield* removeDeadTracked(root, requestId, { measure: true, limit: limitOf(options) })
  for (const { path: elsewhere, type, removal } of gone)
    note(report, { path: elsewhere, type, reason }, removal)
}

const limitOf = ({ budgetMs }: SweepOptions): number | undefined => (budgetMs === undefined ? undefined : 500)

/** Adds what became of one entry to the report. */
function note(
  report: SweepReport,
  entry: Omit<SweepReport['removed'][number], 'bytes'>,
  { bytes, removed, complete, failures }: Removal,
): void {
  report.bytesFreed += bytes
  report.entriesRemoved += removed
  report.complete &&= complete
  // One at a time: as arguments of a call, a few hundred thousand are too many.
  for (const failure of failures) report.failures.push(failure)
  if (complete && failures.length === 0) report.removed.push({ ...entry, bytes })
}

function* wouldRemove(path: string): Generator<void, Removal> {
  const { bytes } = yield* measureSteps(path)
  return { removed: 0, bytes, failures: [], complete: true }
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
