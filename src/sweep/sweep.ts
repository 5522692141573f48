import { readdirSync } from 'node:fs'
import { basename, join } from 'node:path'
import { type Clock, systemClock } from '../primitives/clock.ts'
import { measureTree } from '../primitives/measure-tree.ts'
import { drain, drainInTurns, type Removal, type RemovalFailure } from '../primitives/remove-tree.ts'
import { codedError, errnoOf } from '../primitives/stint-error.ts'
import { discardSteps } from '../scratch/discard.ts'
import { keptScratches } from '../scratch/keep.ts'
import { ensureScratchDirectory, findRoot, type ScratchRoot } from '../scratch/root.ts'
import { removeDeadTracked } from '../scratch/tracked.ts'
import { examine, type Place } from './candidate.ts'
import { type KeepReason, type RemoveReason, verdict } from './verdict.ts'

export interface SweepOptions {
  root?: ScratchRoot
  /** Say what would go, change nothing. */
  dryRun?: boolean
  /** Stop after this many milliseconds; what is left is for the next sweep. */
  budgetMs?: number
  clock?: Clock
}

export interface SweepReport {
  removed: { path: string; bytes: number; reason: RemoveReason | 'superseded' }[]
  kept: { path: string; reason: KeepReason }[]
  failures: RemovalFailure[]
  bytesFreed: number
  /** False if the budget ended it. */
  complete: boolean
}

/** Removes what dead runs left behind, giving way to the event loop. */
export const sweep = (options: SweepOptions = {}): Promise<SweepReport> => drainInTurns(sweepSteps(options))

/** The same in one go. */
export const sweepSync = (options: SweepOptions = {}): SweepReport => drain(sweepSteps(options))

function* sweepSteps(options: SweepOptions): Generator<void, SweepReport> {
  const report: SweepReport = { removed: [], kept: [], failures: [], bytesFreed: 0, complete: true }
  const root = options.root ?? findRoot()
  if (root === undefined) return report
  if (!options.dryRun) ensureScratchDirectory(root.trash)
  const clock = options.clock ?? systemClock
  const end = clock.mono() + (options.budgetMs ?? Number.POSITIVE_INFINITY)
  const keptOnPurpose: { path: string; createdAt: number }[] = []

  for (const { directory, place } of places(root)) {
    for (const name of startSomewhere(list(directory), options.budgetMs)) {
      yield
      if (clock.mono() > end) {
        report.complete = false
        return report
      }
      const candidate = examine(directory, name, place)
      if (candidate === undefined || isFixture(place, name)) continue
      const path = join(directory, name)
      const { remove, reason } = verdict(candidate, clock.now())
      if (remove) yield* dispose(root, path, reason, options, report)
      else if (reason !== 'kept-on-purpose') report.kept.push({ path, reason })
      else keptOnPurpose.push({ path, createdAt: candidate.owner?.createdAt ?? 0 })
    }
  }
  yield* retainNewest(root, keptOnPurpose, options, report)
  return report
}

/** Outputs and trash first: they need no look at processes. */
const places = (root: ScratchRoot): { directory: string; place: Place }[] => [
  { directory: root.trash, place: 'trash' },
  { directory: root.out, place: 'out' },
  { directory: root.path, place: 'root' },
]

/** What belongs there for good. */
const isFixture = (place: Place, name: string): boolean =>
  place === 'root' ? ['trash', 'out', 'tracked'].includes(name) : place === 'trash' && name === sweptStamp

/** In `trash/`: when the last sweep at a start was. */
export const sweptStamp = '.swept'

function list(directory: string): string[] {
  try {
    return readdirSync(directory)
  } catch (error) {
    if (errnoOf(error) === 'ENOENT') return []
    throw codedError(error, `list ${directory}`)
  }
}

/** A sweep with a budget must not spend it on the same living runs every time. */
function startSomewhere(names: string[], budgetMs: number | undefined): string[] {
  if (budgetMs === undefined || names.length < 2) return names
  const start = Math.floor(Math.random() * names.length)
  return [...names.slice(start), ...names.slice(0, start)]
}

function* dispose(
  root: ScratchRoot,
  path: string,
  reason: SweepReport['removed'][number]['reason'],
  options: SweepOptions,
  report: SweepReport,
): Generator<void> {
  const removals = options.dryRun ? [wouldRemove(path)] : yield* really(root, path, options)
  const bytes = removals.reduce((sum, removal) => sum + removal.bytes, 0)
  const failures = removals.flatMap((removal) => removal.failures)
  const complete = removals.every((removal) => removal.complete)
  report.failures.push(...failures)
  report.bytesFreed += bytes
  report.complete &&= complete
  if (complete && failures.length === 0) report.removed.push({ path, bytes, reason })
}

const wouldRemove = (path: string): Removal => ({
  removed: 0,
  bytes: measureTree(path),
  failures: [],
  complete: true,
})

/** First what it tracks elsewhere: as long as the scratch is there, a sweep that was ended here begins again. */
function* really(root: ScratchRoot, path: string, { budgetMs }: SweepOptions): Generator<void, Removal[]> {
  // A large tree must not use up more than a small sweep's time: the rest waits in the trash.
  const limit = budgetMs === undefined ? undefined : 500
  return [removeDeadTracked(root, path), yield* discardSteps(root, path, { measure: true, limit })]
}

/** Scratches kept on purpose: the newest stay, older ones go. */
function* retainNewest(
  root: ScratchRoot,
  kept: { path: string; createdAt: number }[],
  options: SweepOptions,
  report: SweepReport,
): Generator<void> {
  kept.sort((a, b) => b.createdAt - a.createdAt || basename(b.path).localeCompare(basename(a.path)))
  for (const [index, { path }] of kept.entries()) {
    if (index < keptScratches) report.kept.push({ path, reason: 'kept-on-purpose' })
    else yield* dispose(root, path, 'superseded', options, report)
  }
}
