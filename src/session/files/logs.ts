import { auditCodec, journalCodec } from '../log/codec.ts'
import type { LogEnds, Position } from '../log/log-end.ts'
import { type LogFiles, parseSegmentName } from '../log/log-files.ts'
import { type Disk, listIfExists } from '../../base/fs/disk.ts'
import type { SessionPaths } from './paths.ts'

/** Where both logs of a session end in its files. */
export type LogPositions = LogEnds<Position>

/** The two logs of a session. */
export interface Logs {
  journal: LogFiles
  audit: LogFiles
}

export const logsOf = (disk: Disk, { root, audit }: SessionPaths): Logs => ({
  journal: { disk, directory: root, log: 'journal', codec: journalCodec },
  audit: { disk, directory: audit, log: 'audit', codec: auditCodec },
})

/** The highest epoch that the names of the segments show. */
export function highestEpoch({ journal, audit }: Logs): number {
  const epochs = [journal, audit].flatMap(({ disk, directory, log }) =>
    listIfExists(disk, directory).map((name) => parseSegmentName(log, name)?.epoch ?? 0),
  )
  return Math.max(0, ...epochs)
}
