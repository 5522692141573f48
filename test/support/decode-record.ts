import { checkRecord, type LogRecord, parseLogRecord } from '../../src/session/log/record.ts'

/** The record of a line; undefined if the line is not, to the byte, what was written. */
export const decodeRecord = (line: Buffer): LogRecord | undefined =>
  checkRecord(line) === undefined ? undefined : parseLogRecord(line)
