import { join } from 'node:path'
import { type Disk, listIfExists } from '../../base/fs/disk.ts'
import type { Codec } from './codec.ts'
import type { ReadAt } from './lines.ts'
import type { LogName } from './log-end.ts'
import { effectiveSegments, type Segment } from './segment.ts'

/** Where a log is, and how its lines are made. */
export interface LogFiles {
  disk: Disk
  directory: string
  log: LogName
  codec: Codec
}

/** The segments of a log that count, in order; none if there is no log. */
export const listSegments = ({ disk, directory, log }: LogFiles): Segment[] =>
  effectiveSegments(log, listIfExists(disk, directory))

/** A segment, open to be read. */
export interface OpenSegment extends Disposable {
  read: ReadAt
  /** As it is now: somebody may be writing to it. */
  size(): number
}

export function openSegment({ disk, directory }: LogFiles, name: string): OpenSegment {
  const file = disk.openToRead(join(directory, name))
  return {
    read: (into, position) => disk.read(file, into, position),
    size: () => disk.size(file),
    [Symbol.dispose]: () => disk.close(file),
  }
}
