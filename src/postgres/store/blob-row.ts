import { createHash } from 'node:crypto'
import { StintError } from '../../base/errors/stint-error.ts'
import type { BlobName, LogRecord } from '../../session/log/index.ts'
import type { Database } from './database.ts'

/** Content named by its hash. */
export interface Content extends BlobName {
  content: string
}

export function contentOf(content: string): Content {
  const bytes = Buffer.from(content)
  return { sha256: createHash('sha256').update(bytes).digest('hex'), bytes: bytes.length, content }
}

/** `BLOB_MISSING` if it is not there, or not what its name says. */
export async function readBlob(database: Database, key: string, { sha256 }: BlobName): Promise<string> {
  const [row] = await database.query(
    'SELECT content FROM stint.blob WHERE session = $1 AND sha256 = $2',
    key,
    String(sha256),
  )
  const content = row === undefined ? undefined : String(row.content)
  if (content !== undefined && contentOf(content).sha256 === sha256) return content
  throw new StintError('BLOB_MISSING', `blob ${String(sha256).slice(0, 64)} is missing or changed`)
}

/** The record with its data, wherever that is. */
export async function readData(database: Database, key: string, record: LogRecord): Promise<LogRecord> {
  if (record.blob === undefined) return record
  return { ...record, data: JSON.parse(await readBlob(database, key, record.blob)) as unknown }
}
