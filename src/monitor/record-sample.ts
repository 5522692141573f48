import { closeSync, futimesSync, lstatSync } from 'node:fs'
import { join } from 'node:path'
import { ensureHomeDirectory, stintHome } from '../primitives/home.ts'
import { openPrivateFile } from '../primitives/private-file.ts'
import type { SweepReport } from '../sweep/sweep.ts'
import { takeCensus } from './census.ts'
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
    const isDue = takeTurn(home, by, at)
    if (!isDue && done.taken.orphans === 0 && done.freed === 0) return
    const before = lastSample(home)
    appendSample(home, makeSample(entries ?? (await takeCensus(at)), { at, by, before, ...done }))
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

/** Is it time again? Then the next is due in a minute. */
function takeTurn(home: string, by: Sampler, now: number): boolean {
  const stamp = join(statsDirectory(home), `.${by}`)
  const age = now - (lstatSync(stamp, { throwIfNoEntry: false })?.mtimeMs ?? 0)
  // A stamp from the future (a clock that was set back) must not stop it for good.
  if (age >= 0 && age < atMostEveryMs) return false
  ensureHomeDirectory(home)
  ensureHomeDirectory(statsDirectory(home))
  const fd = openPrivateFile(stamp, 'a')
  try {
    futimesSync(fd, now / 1000, now / 1000)
  } finally {
    closeSync(fd)
  }
  return true
}
