import { join } from 'node:path'
import { laterSegment, listSegments, type LogFiles } from '../log/log-files.ts'
import type { AppendPoint, Position } from '../log/log-end.ts'
import { replaceFile } from '../../base/fs/atomic-file.ts'
import { readFully } from '../../base/fs/disk.ts'
import { StintError } from '../../base/errors/stint-error.ts'
import type { LockStanding } from '../holder.ts'

/** Where a writer goes on, so that nobody who came before can spoil it. */
export function chooseAppendPoint(
  place: LogFiles,
  from: Position,
  standing: LockStanding,
  epoch: number,
): AppendPoint {
  const last = listSegments(place).at(-1)
  // It was closed: nobody else has it open. What is added to any but the last segment would not count.
  if (standing === 'released') return { from, continues: last?.name === from.segment, eager: false }
  // Its writer is dead, or it never had one.
  if (standing !== 'silent' && standing !== 'held') return { from, continues: false, eager: true }
  // Somebody may still write to its last segment, or cut it: the part that counts becomes a segment of ours.
  if (last === undefined || from.segment !== last.name || from.seq === 0)
    return { from, continues: false, eager: true }
  const { disk, directory, log } = place
  const segment = laterSegment(log, last.firstSeq, epoch)
  const file = disk.openToRead(join(directory, last.name))
  try {
    const bytes = readFully(disk, file, 0, from.offset)
    if (bytes.length < from.offset)
      throw new StintError('SESSION_LOCKED', 'the previous writer is still writing to the session')
    replaceFile(join(directory, segment), bytes, disk)
  } finally {
    disk.close(file)
  }
  return { from: { ...from, segment }, continues: true, eager: true }
}
