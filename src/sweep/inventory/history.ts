import { lstatSync, readdirSync, unlinkSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { ensureHomeDirectory, homeError, homeUnsafe } from '../../base/fs/home.ts'
import { readLastLines } from '../../base/fs/regular-file.ts'
import { ownDirectoryProblem } from '../../base/fs/own-directory.ts'
import { appendPrivateFile } from '../../base/fs/private-file.ts'
import { errorCode } from '../../base/errors/stint-error.ts'
import { parseSample, type Sample } from './sample.ts'

/** `$STINT_HOME/stats/<yyyy-mm>.ndjson`: a sample a line, a file a month. */
export const statsDirectory = (home: string): string => join(home, 'stats')

/** How many months are kept, this one included. */
const keptMonths = 13
/** Room for a few hundred of them. */
const lastSampleBytes = 64 << 10

const monthFile = (at: number): string => `${new Date(at).toISOString().slice(0, 7)}.ndjson`

/** Appends a sample, whole: of any number of writers at once none tears the line of another. */
export function appendSample(home: string, sample: Sample): void {
  const directory = statsDirectory(home)
  ensureHomeDirectory(home)
  ensureHomeDirectory(directory)
  appendPrivateFile(join(directory, monthFile(sample.at)), `${JSON.stringify(sample)}\n`)
  for (const name of monthsIn(directory).slice(0, -keptMonths)) forget(join(directory, name))
}

/** The samples from `since` to `now`, in the order of time. A line that makes no sense is passed over. */
export function readSamples(home: string, since: number, now: number): Sample[] {
  const directory = statsDirectory(home)
  return monthsIn(directory)
    .filter((name) => name >= monthFile(since))
    .flatMap((name) => readLastLines(join(directory, name)))
    .flatMap((line) => parseSample(line) ?? [])
    .filter(({ at }) => at >= since && at <= now)
    .sort((a, b) => a.at - b.at)
}

export function lastSample(home: string): Sample | undefined {
  const directory = statsDirectory(home)
  const newest = monthsIn(directory).at(-1)
  if (newest === undefined) return undefined
  return readLastLines(join(directory, newest), lastSampleBytes)
    .flatMap((line) => parseSample(line) ?? [])
    .at(-1)
}

/** The files of the history, the oldest first. */
function monthsIn(directory: string): string[] {
  try {
    const problem = ownDirectoryProblem(lstatSync(directory))
    if (problem !== undefined) throw homeUnsafe(directory, problem)
    return readdirSync(directory)
      .filter((name) => /^\d{4}-\d\d\.ndjson$/.test(name))
      .sort()
  } catch (error) {
    if (['ENOENT', 'ENOTDIR'].includes(errorCode(error) ?? '')) return []
    throw homeError(error, dirname(directory), `read ${directory}`)
  }
}

function forget(path: string): void {
  try {
    unlinkSync(path)
  } catch {
    // Somebody else has.
  }
}
