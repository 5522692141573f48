import { basename } from 'node:path'
import type { Blobs } from '../log/blobs.ts'
import type { LogRecord } from '../log/record.ts'
import { sessionFileError } from './session-file-errors.ts'
import { withBlobData } from './recover.ts'

/** The records of a log of the session in this directory, each with its data, wherever that is. */
export async function* eachRecord(
  root: string,
  blobs: Blobs,
  read: () => Iterable<LogRecord>,
): AsyncGenerator<LogRecord> {
  try {
    for (const record of read()) yield withBlobData(record, blobs)
  } catch (error) {
    throw sessionFileError(error, `read session ${basename(root)}`, root)
  }
}
