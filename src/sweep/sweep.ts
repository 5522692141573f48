import { readdirSync } from 'node:fs'
import { basename, join } from 'node:path'
import { type Clock, systemClock } from '../primitives/clock.ts'
import { measureTree } from '../primitives/measure-tree.ts'
import { removeTree, type Removal, type RemovalFailure } from '../primitives/remove-tree.ts'
import { codedError, errnoOf } from '../primitives/stint-error.ts'
import { discard } from '../scratch/discard.ts'
import { keptScratches } from '../scratch/keep.ts'
import { ensureScratchDirectory, findRoot, type ScratchRoot } from '../scratch/root.ts'
import { readTracked } from '../scratch/tracked.ts'
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

/** Removes what dead runs left behind. */
export function sweep(options: SweepOptions = {}): SweepReport {
  const report: SweepReport = { removed: [], kept: [], failures: [], bytesFreed: 0, complete: true }
  const root = options.root ?? findRoot()
  if (root === undefined) return report
  if (!options.dryRun) ensureScratchDirectory(root.trash)
  const clock = options.clock ?? systemClock
  const end = clock.mono() + (options.budgetMs ?? Number.POSITIVE_INFINITY)
  const keptOnPurpose: { path: string; createdAt: number }[] = []

  for (const { directory, place } of places(root)) {
    for (const name of startSomewhere(list(directory), options.budgetMs)) {
      if (clock.mono() > end) {
        report.complete = false
        return report
      }
      const candidate = examine(directory, name, place)
      if (candidate === undefined || isFixture(place, name)) continue
      const path = join(directory, name)
      const { remove, reason } = verdict(candidate, clock.now())
      if (remove) dispose(root, path, reason, options, report)
      else if (reason === 'kept-on-purpose')
        keptOnPurpose.push({ path, createdAt: candidate.owner?.createdAt ?? 0 })
      else report.kept.push({ path, reason })
    }
  }
  retainNewest(root, keptOnPurpose, options, report)
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
  place === 'root' ? name === 'trash' || name === 'out' : place === 'trash' && name === sweptStamp

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

function dispose(
  root: ScratchRoot,
  path: string,
  reason: SweepReport['removed'][number]['reason'],
  { dryRun = false, budgetMs }: SweepOptions,
  report: SweepReport,
): void {
  const removal = dryRun ? wouldRemove(path) : really(root, path, budgetMs)
  report.failures.push(...removal.failures)
  report.bytesFreed += removal.bytes
  report.complete &&= removal.complete
  if (removal.complete && removal.failures.length === 0)
    report.removed.push({ path, bytes: removal.bytes, reason })
}

const wouldRemove = (path: string): Removal => ({
  removed: 0,
  bytes: measureTree(path),
  failures: [],
  complete: true,
})

function really(root: ScratchRoot, path: string, budgetMs: number | undefined): Removal {
  const tracked = readTracked(path)
  // A large tree must not use up more than a small sweep's time: the rest waits in the trash.
  const removal = discard(root, path, { measure: true, limit: budgetMs === undefined ? undefined : 500 })
  for (const elsewhere of tracked) {
    const { bytes, failures } = removeTree(elsewhere, { measure: true })
    removal.bytes += bytes
    removal.failures.push(...failures)
  }
  return removal
}

/** Scratches kept on purpose: the newest stay, older ones go. */
function retainNewest(
  root: ScratchRoot,
  kept: { path: string; createdAt: number }[],
  options: SweepOptions,
  report: SweepReport,
): void {
  kept.sort((a, b) => b.createdAt - a.createdAt || basename(b.path).localeCompare(basename(a.path)))
  for (const [index, { path }] of kept.entries()) {
    if (index < keptScratches) report.kept.push({ path, reason: 'kept-on-purpose' })
    else dispose(root, path, 'superseded', options, report)
  }
}
