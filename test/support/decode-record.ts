import { checkRecord, type LogRecord, parseLogRecord } from '../../src/session/log/record.ts'

/** Decodes a line; undefined if any of its bytes was changed. */
export const decodeRecord = (line: Buffer): LogRecord | undefined =>
  checkRecord(line) === undefined ? undefined : parseLogRecord(line)
