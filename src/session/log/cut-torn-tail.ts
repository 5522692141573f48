import { createHash } from 'node:crypto'
import { join } from 'node:path'
import { replaceFile } from '../../base/fs/atomic-file.ts'
import { ensureDirectory, readFully } from '../../base/fs/disk.ts'
import type { LogFiles } from './log-files.ts'
import type { Leftover, Scanned } from './scan.ts'

/** A torn tail that was cut off a log, and the file with its copy. */
export interface CutTail extends Leftover {
  log: string
  kept: string
}

/** Copies the torn tail of a log to `quarantine` and cuts it off. Only the holder of the lock may do so. */
export function cutTornTail(files: LogFiles, scanned: Scanned, quarantine: string): CutTail[] {
  const { disk, directory, log } = files
  const cuts: CutTail[] = []
  for (const leftover of scanned.torn) {
    ensureDirectory(disk, quarantine)
    const file = disk.open(join(directory, leftover.segment))
    try {
      const bytes = readFully(disk, file, leftover.offset, leftover.bytes)
      const kept = join(quarantine, `${leftover.segment}-${leftover.offset}-${shortHash(bytes)}`)
      replaceFile(kept, bytes, disk)
      disk.truncate(file, leftover.offset)
      disk.sync(file)
      cuts.push({ ...leftover, log, kept })
    } finally {
      disk.close(file)
    }
  }
  return cuts
}

/** Syncs the records that a scan has accepted: when their writer died, they may have been in memory only. */
export function syncAccepted(files: LogFiles, { end }: Scanned): void {
  const { disk, directory } = files
  if (end.seq === 0) return
  const file = disk.open(join(directory, end.segment))
  try {
    disk.sync(file)
  } finally {
    disk.close(file)
  }
  disk.syncDirectory(directory)
}

const shortHash = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex').slice(0, 12)
