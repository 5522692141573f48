import { lstatSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import type { LogFiles } from '../log/log-files.ts'
import { readBackwards } from '../log/read.ts'
import type { LogRecord } from '../log/record.ts'
import type { Disk } from '../../base/fs/disk.ts'
import { liveness } from '../../base/process/liveness.ts'
import { holderStanding, sessionState } from '../holder.ts'
import { type Manifest, summarize } from '../manifest.ts'
import type { SessionSummary } from '../store.ts'
import { isMarkedDamaged } from './damage-marker.ts'
import { logsOf } from './logs.ts'
import type { SessionPaths } from './paths.ts'
import { lockName, type ObservedLock } from './session-lock.ts'
import { Snapshots } from './snapshots.ts'

/** Reads the summary of a session from its files. `lock` must have been observed before the manifest was read. */
export function readSummary(
  disk: Disk,
  paths: SessionPaths,
  manifest: Manifest,
  { record, standing }: ObservedLock,
): SessionSummary {
  const last = lastRecord(logsOf(disk, paths).journal)
  return summarize(manifest, {
    state: sessionState(standing, record?.holder, isMarkedDamaged(disk, paths)),
    lastAt: last?.at,
    turns: turnsOf(disk, paths),
    records: last?.seq ?? 0,
    bytes: sizeOf(paths),
    holder: record?.holder,
  })
}

/** The summary with its state judged again: a holder that another process found dead may be out of sight from here. */
export function rejudge(summary: SessionSummary): SessionSummary {
  const { holder, state } = summary
  if (holder === undefined) return summary
  const standing = holderStanding(holder, liveness(holder.process), Date.now())
  return { ...summary, state: sessionState(standing, holder, state === 'damaged') }
}

/** In a loop, so that its file is closed. */
function lastRecord(place: LogFiles): LogRecord | undefined {
  for (const record of readBackwards(place)) return record
  return undefined
}

/** As of the newest snapshot: close enough for a list, and close always takes one. */
const turnsOf = (disk: Disk, paths: SessionPaths): number => new Snapshots(disk, paths).newestTurns()

/**
 * Bytes of all files of a session, but for its lock, which is tidied up even after it was given back, and for what visitors have left and nobody
 * has taken in yet.
 */
function sizeOf({ root, spool }: SessionPaths): number {
  const passed = new Set([spool, join(root, lockName)])
  const sizeIn = (directory: string): number => {
    let bytes = 0
    for (const entry of readdirSync(directory, { withFileTypes: true })) {
      const path = join(directory, entry.name)
      if (!entry.isDirectory()) bytes += lstatSync(path, { throwIfNoEntry: false })?.size ?? 0
      else if (!passed.has(path)) bytes += sizeIn(path)
    }
    return bytes
  }
  return sizeIn(root)
}
