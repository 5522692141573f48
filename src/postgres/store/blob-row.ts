import { blobMissing, type BlobName, type LogRecord, nameBlob } from '../../session/log/index.ts'
import type { Database } from '../database.ts'

/** Content named by its hash. */
export interface Content extends BlobName {
  content: string
}

export function contentOf(content: string): Content {
  return { ...nameBlob(Buffer.from(content)), content }
}

/** `BLOB_MISSING` if it is not there, or not what its name says. */
export async function readBlob(database: Database, key: string, name: BlobName): Promise<string> {
  const [row] = await database.query(
    'SELECT content FROM stint.blob WHERE session = $1 AND sha256 = $2',
    key,
    String(name.sha256),
  )
  const content = row === undefined ? undefined : String(row.content)
  if (content !== undefined && contentOf(content).sha256 === name.sha256) return content
  throw blobMissing(name)
}

/** The record with its data, wherever that is. */
export async function readData(database: Database, key: string, record: LogRecord): Promise<LogRecord> {
  if (record.blob === undefined) return record
  return { ...record, data: JSON.parse(await readBlob(database, key, record.blob)) as unknown }
}
