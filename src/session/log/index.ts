/** The door of the log: the code that all session drivers share. */
export { blobMissing, nameBlob } from './blobs.ts'
export {
  codecs,
  emptyLogEnd,
  emptyLogEnds,
  encodeCheckpoint,
  encodeEntry,
  encodeLine,
  maxInlineBytes,
} from './codec.ts'
export { forkPoint, type LogEnd, type LogEnds, type LogName, logNames, parseLogEnd } from './log-end.ts'
export { type BlobName, checkRecord, type LogRecord, parseLogRecord } from './record.ts'
export {
  encodeSnapshot,
  keptSnapshots,
  parseSnapshot,
  restoreSnapshot,
  type Snapshot,
  type StoredSnapshot,
} from './snapshot-codec.ts'
export { LazyCommit } from './writer.ts'
