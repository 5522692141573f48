import { lstatSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import type { LogFiles } from '../log/log-files.ts'
import { readBackwards } from '../log/read.ts'
import type { LogRecord } from '../log/record.ts'
import type { Disk } from '../../base/fs/disk.ts'
import { liveness } from '../../base/process/liveness.ts'
import { sessionState } from '../holder.ts'
import { type Manifest, summarize } from '../manifest.ts'
import type { SessionState, SessionSummary } from '../store.ts'
import { isMarkedDamaged } from './damage-marker.ts'
import { type SessionLockRecord, lockStanding } from './lock-record.ts'
import { logsOf } from './logs.ts'
import type { SessionPaths } from './paths.ts'
import { lockName, SessionLock } from './session-lock.ts'
import { Snapshots } from './snapshots.ts'

/** What a list shows of a session, and the epoch of its lock when that was read: what comes with a later one is not in it. */
export interface Look {
  summary: SessionSummary
  epoch: number
}

/** Reads it from the session's own files. */
export function readSummary(disk: Disk, paths: SessionPaths, manifest: Manifest): Look {
  const lock = SessionLock.look(paths.root)
  const last = lastRecord(logsOf(disk, paths).journal)
  const summary = summarize(manifest, {
    state: sessionStateOf(lock, isMarkedDamaged(disk, paths)),
    lastAt: last?.at,
    turns: turnsOf(disk, paths),
    records: last?.seq ?? 0,
    bytes: sizeOf(paths),
    holder: lock?.holder,
  })
  return { summary, epoch: lock?.epoch ?? 0 }
}

/** Over plain data, but for a look at the holder. */
export function sessionStateOf(lock: SessionLockRecord | undefined, damaged: boolean): SessionState {
  const standing = lockStanding(lock, Date.now(), ({ process }) => liveness(process))
  return sessionState(standing, lock?.holder, damaged)
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
