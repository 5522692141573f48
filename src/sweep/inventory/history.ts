import { lstatSync, readdirSync, rmSync } from 'node:fs'
import { dirname, join } from 'node:path'
import {
  assertOwnHomeDirectory,
  ensureHome,
  ensureHomeDirectory,
  homeError,
  stintHome,
} from '../../base/fs/home.ts'
import { errorCode } from '../../base/errors/stint-error.ts'
import { takeTurnIfDue } from '../../base/fs/at-most-every.ts'
import { readLastLines } from '../../base/fs/regular-file.ts'
import { appendPrivateFile } from '../../base/fs/private-file.ts'
import type { SweepReport } from '../report.ts'
import { type Activity, peaksOverTime, summarizeActivity } from './activity.ts'
import type { MeasuredEntry } from './entry.ts'
import { measureEntries } from './measure-entries.ts'
import {
  makeSample,
  nothingSwept,
  parseSample,
  type Sample,
  type Sampler,
  type SessionSpace,
  type Swept,
} from './sample.ts'

/** `$STINT_HOME/stats/<yyyy-mm>.ndjson`: one sample a line, one file a month. */
const statsDirectory = (home: string): string => join(home, 'stats')

/** How many months are kept, including the current one. */
const keptMonths = 13
/** Room for a few hundred samples. */
const lastSampleBytes = 64 << 10

const monthFile = (at: number): string => `${new Date(at).toISOString().slice(0, 7)}.ndjson`

/** Appends a sample with one write, so that concurrent writers cannot tear each other's lines. */
export function appendSample(home: string, sample: Sample): void {
  const directory = statsDirectory(home)
  ensureHome(home)
  ensureHomeDirectory(directory)
  appendPrivateFile(join(directory, monthFile(sample.at)), `${JSON.stringify(sample)}\n`)
  for (const name of listMonths(directory).slice(0, -keptMonths))
    rmSync(join(directory, name), { force: true })
}

/** Reads the samples between two times (milliseconds since the epoch), in order. Skips invalid lines. */
export function readSamples(home: string, since: number, now: number): Sample[] {
  const directory = statsDirectory(home)
  return listMonths(directory)
    .filter((name) => name >= monthFile(since))
    .flatMap((name) => readLastLines(join(directory, name)))
    .flatMap((line) => parseSample(line) ?? [])
    .filter(({ at }) => at >= since && at <= now)
    .sort((a, b) => a.at - b.at)
}

export function lastSample(home: string): Sample | undefined {
  const directory = statsDirectory(home)
  const newest = listMonths(directory).at(-1)
  if (newest === undefined) return undefined
  return readLastLines(join(directory, newest), lastSampleBytes)
    .flatMap((line) => parseSample(line) ?? [])
    .at(-1)
}

/** The files of the history, the oldest first. */
function listMonths(directory: string): string[] {
  try {
    assertOwnHomeDirectory(directory, lstatSync(directory))
    return readdirSync(directory)
      .filter((name) => /^\d{4}-\d\d\.ndjson$/.test(name))
      .sort()
  } catch (error) {
    if (['ENOENT', 'ENOTDIR'].includes(errorCode(error) ?? '')) return []
    throw homeError(error, dirname(directory), `read ${directory}`)
  }
}

/** The history over a stretch of time. */
export interface History {
  activity: Activity | undefined
  /** Peaks over time, in steps of equal length. */
  series: Record<'disk_bytes' | 'bytes' | 'files' | 'scratches' | 'orphans', number[]>
}

/** Reads the history between two times (milliseconds since the epoch), in at most `points` steps. */
export function readHistory(since: number, now: number, points: number): History {
  const samples = readSamples(stintHome(), since, now)
  return {
    activity: summarizeActivity(samples),
    series: {
      disk_bytes: peaksOverTime(samples, 'disk_bytes_found', points),
      bytes: peaksOverTime(samples, 'bytes_found', points),
      files: peaksOverTime(samples, 'files', points),
      scratches: peaksOverTime(samples, 'scratches', points),
      orphans: peaksOverTime(samples, 'orphans_found', points),
    },
  }
}

/** Keeps the history small, however often a user watches, or sweeps an empty root. */
const atMostEveryMs = 60_000

export interface SampleSources {
  done?: Swept
  /** The entries of the root, if they were measured just now. */
  entries?: readonly MeasuredEntry[]
  /** Measures the sessions of the home, which this folder does not know. */
  measureSessions?: () => Promise<SessionSpace | undefined>
}

/**
 * Adds a sample to the history: one for each sweep that removed something, otherwise at most one a minute
 * from sweeps and one from watchers. Never fails its caller: with a full disk or a read-only home, the sample
 * is lost.
 */
export async function recordSample(
  by: Sampler,
  { done = nothingSwept, entries, measureSessions }: SampleSources = {},
): Promise<void> {
  try {
    const home = stintHome()
    const at = Date.now()
    ensureHome(home)
    ensureHomeDirectory(statsDirectory(home))
    const isDue = takeTurnIfDue(join(statsDirectory(home), `.${by}`), atMostEveryMs, at)
    if (!isDue && done.taken.orphans === 0 && done.freed === 0) return
    const before = lastSample(home)
    const measured = entries ?? (await measureEntries(at))
    const sessions = isDue ? await measureSessions?.() : undefined
    appendSample(home, makeSample(measured, { at, by, before, sessions, ...done }))
  } catch {
    // The command itself reports a fault that matters to the user.
  }
}

/** Adds the sample of a sweep: what it removed, and what is left. */
export async function recordSweep(
  report: SweepReport,
  measureSessions?: SampleSources['measureSessions'],
): Promise<void> {
  const { removed, bytesFreed: freed, diskBytesFreed: disk_freed } = report
  const swept = removed.filter(({ reason }) => !notScratches.has(reason)).length
  const sessions = removed.filter(({ reason }) => sessionReasons.has(reason))
  const taken = {
    orphans: removed.length - sessions.length,
    bytes: freed - sessions.reduce((sum, { bytes }) => sum + bytes, 0),
    disk_bytes: disk_freed - sessions.reduce((sum, { disk_bytes }) => sum + disk_bytes, 0),
  }
  await recordSample('sweep', { done: { swept, freed, disk_freed, taken }, measureSessions })
}

const sessionReasons: ReadonlySet<string> = new Set(['removed-session', 'unfinished-session'])
const notScratches: ReadonlySet<string> = new Set(['expired', 'trash', ...sessionReasons])
