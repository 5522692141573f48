import { join } from 'node:path'
import { errorCode } from '../base/errors/stint-error.ts'
import { SpaceCounter } from '../base/fs/measure-tree.ts'
import { type Clock, systemClock } from '../base/process/clock.ts'
import { giveWay } from '../base/process/event-loop.ts'
import { ownedRun } from '../scratch/owner.ts'
import type { ScratchRoot } from '../scratch/root.ts'
import { type JudgedEntry, judgeEntry, markSuperseded } from './judge-entry.ts'
import { removeEntry, type RemoveEntryOptions, emptyReport, type SweepReport } from './remove-entry.ts'
import {
  directoriesIn,
  listSwept,
  type SweepScope,
  type SweptDirectory,
  type SweptListing,
} from './swept-directories.ts'
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
export const sweep = async (options: SweepOptions = {}): Promise<SweepReport> =>
  await new Sweep(options).run()

class Sweep {
  readonly #options: SweepOptions
  readonly #clock: Clock
  readonly #end: number
  readonly #removal: RemoveEntryOptions
  readonly #report = emptyReport()
  readonly #keptOnPurpose: JudgedEntry[] = []
  readonly #seen = new Set<string>()
  #done = 0
  #total = 0
  #isLate = false
  /** The error that `onProgress` has thrown. */
  #stop: { error: unknown } | undefined

  constructor(options: SweepOptions) {
    const { clock = systemClock, budgetMs } = options
    this.#options = options
    this.#clock = clock
    this.#end = clock.mono() + (budgetMs ?? Number.POSITIVE_INFINITY)
    this.#removal = {
      dryRun: options.dryRun ? new SpaceCounter('last') : undefined,
      limit: budgetMs === undefined ? undefined : entriesPerTreeInBudget,
      onTurn: () => this.#tellProgress(),
    }
  }

  async run(): Promise<SweepReport> {
    const directories = directoriesIn(this.#options.scope ?? 'all', this.#options)
    const listings = directories.map((directory) => listSwept(directory))
    this.#total = listings.reduce((sum, { names }) => sum + names.filter(isCounted).length, 0)
    for (const listing of listings) await this.#sweepDirectory(listing)
    if (this.#isLate) return { ...this.#report, complete: false }
    for (const judged of markSuperseded(this.#keptOnPurpose)) await this.#apply(judged)
    this.#tellProgress()
    return this.#report
  }

  async #sweepDirectory({ directory, names }: SweptListing): Promise<void> {
    const removedBefore = this.#report.entriesRemoved
    for (const [index, name] of fromRandomStart(names, this.#options.budgetMs).entries()) {
      await giveWay()
      this.#tellProgress()
      const hasProgress = this.#report.entriesRemoved > removedBefore || index >= leastEntries
      if (hasProgress && this.#clock.mono() > this.#end) {
        this.#isLate = true
        return
      }
      if (isCounted(name)) this.#done += 1
      // The record of tracked paths was handled with the scratch of the same name.
      if (directory.kind === 'tracked' && this.#seen.has(name)) continue
      this.#seen.add(name)
      await this.#sweepEntry(directory, name)
    }
  }

  async #sweepEntry(directory: SweptDirectory, name: string): Promise<void> {
    try {
      const judged = await judgeEntry(directory, name, this.#clock.now())
      if (judged?.verdict.reason === 'kept-on-purpose') this.#keptOnPurpose.push(judged)
      else if (judged !== undefined) await this.#apply(judged)
    } catch (error) {
      if (this.#stop !== undefined) throw this.#stop.error
      // An entry that cannot be inspected must not stop the sweep of the rest.
      const path = join(directory.path, name)
      this.#report.failures.push({ path, type: 'directory', error: errorCode(error) ?? String(error) })
    }
  }

  /** Removes an entry, or reports why it stays. */
  async #apply(judged: JudgedEntry): Promise<void> {
    const { path, facts, verdict } = judged
    const { olderThanMs } = this.#options
    const { remove, reason } = keepIfTooYoung(verdict, facts.changedAt, this.#clock.now(), olderThanMs)
    if (!remove) this.#report.kept.push({ path, reason })
    else await removeEntry(judged, reason, this.#removal, this.#report)
  }

  #tellProgress(): void {
    const { bytesFreed, diskBytesFreed } = this.#report
    try {
      this.#options.onProgress?.({ done: this.#done, total: this.#total, bytesFreed, diskBytesFreed })
    } catch (error) {
      this.#stop = { error }
      throw error
    }
  }
}

/** The record of an owner goes with its scratch. */
const isCounted = (name: string): boolean => ownedRun(name) === undefined

/** Starts at a random name, so that sweeps with a budget do not spend it on the same living runs. */
function fromRandomStart(names: readonly string[], budgetMs: number | undefined): readonly string[] {
  if (budgetMs === undefined || names.length < 2) return names
  const start = Math.floor(Math.random() * names.length)
  return [...names.slice(start), ...names.slice(0, start)]
}
