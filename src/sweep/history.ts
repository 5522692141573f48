import { join } from 'node:path'
import { appendBoundedLog, readBoundedLog } from '../base/fs/bounded-log.ts'
import type { DiskSpace } from '../base/fs/measure-tree.ts'
import { ensureHome, stintHome } from '../base/fs/home.ts'
import { isCount, parseObject } from '../base/text/fields.ts'
import type { SweepReport } from './remove-entry.ts'
import { type EntryTotals, measureEntries, sumEntries } from './inventory.ts'

/** What one sweep found in the temp directory, and what it removed: a line of the history. */
export interface SweepRecord extends DiskSpace {
  /** The end of the sweep, in milliseconds since the epoch. */
  at: number
  /** Entries that the sweep found, and how many of them dead runs had left. */
  entries: number
  orphans: number
  /** Entries that the sweep removed, and what the disk got back, in bytes. */
  removed: number
  disk_freed: number
}

const historyFile = (home: string): string => join(home, 'sweeps.jsonl')

/** Room for about 500 sweeps. The log keeps one full file beside the current one. */
const maxHistoryBytes = 64 << 10

/**
 * Adds a sweep to the history. Never fails its caller: if the disk is full or the home read-only, the line is
 * lost, and `stint doctor` reports what is wrong with the home.
 */
export async function recordSweep({ removed, bytesFreed, diskBytesFreed }: SweepReport): Promise<void> {
  try {
    const remaining = sumEntries(await measureEntries())
    const record: SweepRecord = {
      at: Date.now(),
      entries: remaining.entries + removed.length,
      orphans: remaining.orphans + removed.length,
      bytes: remaining.bytes + bytesFreed,
      disk_bytes: remaining.disk_bytes + diskBytesFreed,
      removed: removed.length,
      disk_freed: diskBytesFreed,
    }
    const home = stintHome()
    ensureHome(home)
    appendBoundedLog(historyFile(home), `${JSON.stringify(record)}\n`, maxHistoryBytes)
  } catch {
    // The command itself reports a fault that matters to the user.
  }
}

/** Reads the history, oldest sweep first. Skips damaged lines. */
const readSweeps = (): SweepRecord[] =>
  readBoundedLog(historyFile(stintHome()), maxHistoryBytes).flatMap((line) => parseSweep(line) ?? [])

const counts = ['at', 'entries', 'orphans', 'bytes', 'disk_bytes', 'removed', 'disk_freed']

function parseSweep(line: string): SweepRecord | undefined {
  const value = parseObject(line)
  return value && counts.every((field) => isCount(value[field]))
    ? (value as unknown as SweepRecord)
    : undefined
}

/** The history in a few figures. */
export interface HistorySummary {
  sweeps: number
  /** The time of the first sweep, in milliseconds since the epoch. */
  since: number
  removed: number
  disk_freed: number
  /** How much more there is now than at the first sweep. */
  change: Pick<EntryTotals, 'disk_bytes' | 'entries' | 'orphans'>
}

/** Sums up the history; undefined if no sweep has written one. */
export function summarizeHistory(now: EntryTotals): HistorySummary | undefined {
  const sweeps = readSweeps()
  const [first] = sweeps
  if (first === undefined) return undefined
  return {
    sweeps: sweeps.length,
    since: first.at,
    removed: sweeps.reduce((sum, { removed }) => sum + removed, 0),
    disk_freed: sweeps.reduce((sum, { disk_freed }) => sum + disk_freed, 0),
    change: {
      disk_bytes: now.disk_bytes - first.disk_bytes,
      entries: now.entries - first.entries,
      orphans: now.orphans - first.orphans,
    },
  }
}
