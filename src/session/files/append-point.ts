import { join } from 'node:path'
import { laterSegment, listSegments, type LogFiles } from '../log/log-files.ts'
import type { AppendPoint, Position } from '../log/log-end.ts'
import { closing } from '../../base/fs/disk.ts'
import type { DiskSteps } from '../../base/fs/disk-steps.ts'
import { StintError } from '../../base/errors/stint-error.ts'
import { copyBytes } from './fork.ts'
import type { LockStanding } from '../holder.ts'

/** Chooses where a new writer goes on in a log, so that no earlier writer can spoil its records. */
export function* chooseAppendPoint(
  files: LogFiles,
  from: Position,
  standing: LockStanding,
  holdEpoch: number,
): DiskSteps<AppendPoint> {
  const last = listSegments(files).at(-1)
  // The last writer has closed the segment. Records added to any segment but the last would never be read.
  if (standing === 'released') return { from, continues: last?.name === from.segment }
  // The last writer is dead, or there was none.
  if (standing === 'dead' || standing === 'never') return { from, continues: false }
  // The last writer is silent, or `unlock` has taken its lock. It may still write to its last segment, or
  // truncate it: copy its acknowledged part.
  if (last === undefined || from.segment !== last.name || from.seq === 0) return { from, continues: false }
  const { disk, directory, log } = files
  const segment = laterSegment(log, last.firstSeq, holdEpoch)
  using file = closing(disk, disk.openToRead(join(directory, last.name)))
  if (!(yield* copyBytes(disk, file.fd, from.offset, join(directory, segment))))
    throw new StintError('SESSION_LOCKED', 'the previous writer is still writing to the session')
  return { from: { ...from, segment }, continues: true }
}
