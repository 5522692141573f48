import { join } from 'node:path'
import { replaceOnDisk } from '../../base/fs/atomic-file.ts'
import {
  closing,
  type Disk,
  ensureDirectory,
  listIfExists,
  pieceBytes,
  readFully,
  readLargeFile,
} from '../../base/fs/disk.ts'
import { giveWay } from '../../base/process/event-loop.ts'
import { nameBlob } from '../log/read.ts'
import type { BegunLogs, Leftover, LogTail } from '../medium.ts'
import { effectiveSegments, type LogFiles, parseSegmentName } from './log-files.ts'

/** Copies the torn tail of a log to `quarantine` and cuts it off. Only the holder of the lock may do so. */
export async function cutTornTail(
  files: LogFiles,
  { torn }: LogTail,
  quarantine: string,
): Promise<BegunLogs['cut']> {
  const { disk, directory, log } = files
  const cut: BegunLogs['cut'] = []
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
 * Removes segments that another one supersedes as a whole. Bytes that the other does not have are of a writer
 * that had lost its lock: they are copied to `quarantine`, and returned. Such a writer may still have its
 * file open; what it writes from now on was never acknowledged, and goes with the file.
 */
export async function removeSuperseded(files: LogFiles, quarantine: string): Promise<Leftover[]> {
  const { disk, directory, log } = files
  const names = listIfExists(disk, directory)
  const effective = effectiveSegments(log, names)
  const superseded = names
    .flatMap((name) => parseSegmentName(log, name) ?? [])
    .filter(({ name }) => !effective.some((segment) => segment.name === name))
  const ignored: Leftover[] = []
  for (const { name, firstSeq } of superseded) {
    const copy = effective.find((segment) => segment.firstSeq === firstSeq)
    const bytes = await readLargeFile(disk, join(directory, name))
    // Not a regular file: stint did not make it.
    if (bytes === undefined) continue
    const other = copy && (await readLargeFile(disk, join(directory, copy.name)))
    const offset = await equalLines(bytes, other)
    let end = bytes.length
    // A writer fills its file ahead with newlines.
    while (end > offset && bytes[end - 1] === newline) end -= 1
    if (end > offset) {
      const leftover = { segment: name, offset, bytes: end - offset }
      await keepBytes(disk, quarantine, leftover, bytes.subarray(offset, end))
      ignored.push(leftover)
    }
    await disk.unlink(join(directory, name))
  }
  if (superseded.length > 0) await disk.syncDirectory(directory)
  return ignored
}

const newline = 0x0a

/** The length of the lines at their beginning that two files have in common. */
async function equalLines(bytes: Buffer, other: Buffer | undefined): Promise<number> {
  let [at, end] = [0, 0]
  for (; at < bytes.length && bytes[at] === other?.[at]; at++) {
    if (bytes[at] === newline) end = at + 1
    if (at % pieceBytes === pieceBytes - 1) await giveWay()
  }
  return end
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
