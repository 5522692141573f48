import { join } from 'node:path'
import { replaceOnDisk } from '../../base/fs/atomic-file.ts'
import { closing, type Disk, ensureDirectory, listIfExists, readFully } from '../../base/fs/disk.ts'
import { nameBlob } from '../log/read.ts'
import type { CutBytes, Leftover, LogTail } from '../medium.ts'
import { effectiveSegments, type LogFiles, parseSegmentName } from './log-files.ts'

/** Copies the torn tail of a log to `quarantine` and cuts it off. Only the holder of the lock may do so. */
export async function cutTornTail(
  files: LogFiles,
  { torn }: LogTail,
  quarantine: string,
): Promise<CutBytes[]> {
  const { disk, directory, log } = files
  const cut: CutBytes[] = []
  for (const leftover of torn) {
    using file = closing(disk, disk.open(join(directory, leftover.segment)))
    const bytes = await readFully(disk, file.fd, leftover.offset, leftover.bytes)
    const kept = await keepBytes(disk, quarantine, leftover, bytes)
    await disk.truncate(file.fd, leftover.offset)
    await disk.sync(file.fd)
    cut.push({ ...leftover, log, kept })
  }
  return cut
}

/**
 * Removes segments that another one supersedes as a whole. What they have besides was never acknowledged by a
 * writer that held the lock. One that still has its file open writes to a file without a name from now on.
 */
export async function removeSuperseded({ disk, directory, log }: LogFiles): Promise<void> {
  const names = listIfExists(disk, directory)
  const effective = new Set(effectiveSegments(log, names).map(({ name }) => name))
  const superseded = names.filter((name) => parseSegmentName(log, name) !== undefined && !effective.has(name))
  for (const name of superseded) await disk.unlink(join(directory, name))
  if (superseded.length > 0) await disk.syncDirectory(directory)
}

async function keepBytes(
  disk: Disk,
  quarantine: string,
  { segment, offset }: Leftover,
  bytes: Buffer,
): Promise<string> {
  await ensureDirectory(disk, quarantine)
  const { sha256 } = await nameBlob(bytes)
  const kept = join(quarantine, `${segment}-${offset}-${sha256.slice(0, 12)}`)
  await replaceOnDisk(disk, kept, bytes)
  return kept
}

/** Syncs the records that a scan has accepted: when their writer died, they may have been in memory only. */
export async function syncAccepted(files: LogFiles, { end, segment }: LogTail): Promise<void> {
  const { disk, directory } = files
  if (end.seq === 0) return
  using file = closing(disk, disk.open(join(directory, segment)))
  await disk.sync(file.fd)
  await disk.syncDirectory(directory)
}
