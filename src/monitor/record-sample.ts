import { closeSync, futimesSync, lstatSync } from 'node:fs'
import { join } from 'node:path'
import { ensureHomeDirectory, stintHome } from '../primitives/home.ts'
import { openPrivateFile } from '../primitives/private-file.ts'
import type { SweepReport } from '../sweep/sweep.ts'
import { takeCensus } from './census.ts'
import type { MeasuredEntry } from './entry.ts'
import { appendSample, lastSample, statsDirectory } from './history.ts'
import { makeSample, type Sampler, type Swept } from './sample.ts'

/** So that the history stays small, however often somebody sweeps or looks. */
const atMostEveryMs = 60_000

/**
 * Adds a sample to the history, at most one a minute from sweeps and one from watchers. Never fails its caller: on a full disk or in a read-only home
 * there is none.
 */
export async function recordSample(
  by: Sampler,
  { swept = 0, freed = 0, entries }: Partial<Swept> & { entries?: readonly MeasuredEntry[] } = {},
): Promise<void> {
  try {
    const home = stintHome()
    const at = Date.now()
    if (!takeTurn(home, by, at)) return
    const before = lastSample(home)
    appendSample(home, makeSample(entries ?? (await takeCensus(at)), { at, by, before, swept, freed }))
  } catch {
    // What matters to the user fails, and is told, elsewhere.
  }
}

/** What a sweep adds: what is there now, and what it has done. */
export async function recordSweep({ removed, bytesFreed }: SweepReport): Promise<void> {
  const swept = removed.filter(({ reason }) => !notScratches.has(reason)).length
  await recordSample('sweep', { swept, freed: bytesFreed })
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
