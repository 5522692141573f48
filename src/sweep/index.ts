/**
 * The door of the sweep: removing what dead runs left behind, the inventory of what is there, and the timer.
 *
 * Every run loads this module for `sweepAtStart`; the other functions load their part when they are called.
 */
import type * as inventory from './inventory/index.ts'
import type { SweepReport } from './report.ts'
import type { SweepOptions } from './sweep.ts'
import type * as timer from './timer/timer.ts'

export {
  type EntryOrder,
  type EntryTotals,
  type MeasuredEntry,
  sortEntries,
  sumEntries,
  type TempEntry,
} from './inventory/entry.ts'
export type { Activity } from './inventory/activity.ts'
export type { History } from './inventory/history.ts'
export type { TracedPath } from './inventory/trace-path.ts'
export { addToReport, type SweepReport, type SweepScope, sweepScopes } from './report.ts'
export { sweepAtStart } from './sweep-at-start.ts'
export type { SweepOptions, SweepProgress } from './sweep.ts'
export type { TimerJob } from './timer/job.ts'
export type { TimerKind, TimerStep } from './timer/plan.ts'
export type { InstalledTimer, TimerChange } from './timer/timer.ts'

/** Removes what dead runs left behind. */
export const sweep = async (options?: SweepOptions): Promise<SweepReport> =>
  (await import('./sweep.ts')).sweep(options)

const loadInventory = async (): Promise<typeof inventory> => await import('./inventory/index.ts')

/** Lists and measures everything in this user's root. */
export const measureEntries: typeof inventory.measureEntries = async (...given) =>
  (await loadInventory()).measureEntries(...given)

/** Finds out which run made a path. */
export const tracePath: typeof inventory.tracePath = async (...given) =>
  (await loadInventory()).tracePath(...given)

/** Reads the history of samples. */
export const readHistory = async (
  ...given: Parameters<typeof inventory.readHistory>
): Promise<inventory.History> => (await loadInventory()).readHistory(...given)

/** Adds the sample of a watcher to the history. */
export const recordSample: typeof inventory.recordSample = async (...given) =>
  await (await loadInventory()).recordSample(...given)

/** Adds the sample of a sweep to the history. */
export const recordSweep: typeof inventory.recordSweep = async (...given) =>
  await (await loadInventory()).recordSweep(...given)

const loadTimer = async (): Promise<typeof timer> => await import('./timer/timer.ts')

/** Installs the timer that sweeps regularly. */
export const installTimer = async (
  ...given: Parameters<typeof timer.installTimer>
): Promise<timer.TimerChange> => (await loadTimer()).installTimer(...given)

/** Removes the timer. */
export const uninstallTimer = async (
  ...given: Parameters<typeof timer.uninstallTimer>
): Promise<timer.TimerChange> => (await loadTimer()).uninstallTimer(...given)

/** Inspects the timer of this user. */
export const inspectTimer = async (): Promise<timer.InstalledTimer> => (await loadTimer()).inspectTimer()
