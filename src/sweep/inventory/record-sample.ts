import { join } from 'node:path'
import { ensureHomeDirectory, stintHome } from '../../base/fs/home.ts'
import { takeTurnIfDue } from '../../base/fs/at-most-every.ts'
import type { SweepReport } from '../report.ts'
import { measureEntries } from './measure-entries.ts'
import type { MeasuredEntry } from './entry.ts'
import { appendSample, lastSample, statsDirectory } from './history.ts'
import { makeSample, nothingSwept, type Sampler, type Swept } from './sample.ts'

/** So that the history stays small, however often somebody looks, or sweeps where nothing is. */
const atMostEveryMs = 60_000

/**
 * Adds a sample to the history: for each sweep that has removed something, else at most one a minute from sweeps and one from watchers.
 * Never fails its caller: on a full disk or in a read-only home there is none.
 */
export async function recordSample(
  by: Sampler,
  { done = nothingSwept, entries }: { done?: Swept; entries?: readonly MeasuredEntry[] } = {},
): Promise<void> {
  try {
    const home = stintHome()
    const at = Date.now()
    for (const directory of [home, statsDirectory(home)]) ensureHomeDirectory(directory)
    const isDue = takeTurnIfDue(join(statsDirectory(home), `.${by}`), atMostEveryMs, at)
    if (!isDue && done.taken.orphans === 0 && done.freed === 0) return
    const before = lastSample(home)
    appendSample(home, makeSample(entries ?? (await measureEntries(at)), { at, by, before, ...done }))
  } catch {
    // What matters to the user fails, and is told, elsewhere.
  }
}

/** What a sweep adds: what is there now, and what it has done. */
export async function recordSweep({ removed, bytesFreed }: SweepReport): Promise<void> {
  const swept = removed.filter(({ reason }) => !notScratches.has(reason)).length
  const sessions = removed.filter(({ reason }) => reason === 'removed-session')
  const taken = {
    orphans: removed.length - sessions.length,
    bytes: bytesFreed - sessions.reduce((sum, { bytes }) => sum + bytes, 0),
  }
  await recordSample('sweep', { done: { swept, freed: bytesFreed, taken } })
}

const notScratches: ReadonlySet<string> = new Set(['expired', 'trash', 'removed-session'])
