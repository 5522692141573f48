import { blobMissing, type BlobName, type LogRecord, nameBlob } from '../../session/log/index.ts'
import type { Database } from '../database.ts'

/** Content with its name, which is its hash: of a blob, or of the value of a slot. */
export interface NamedContent extends BlobName {
  content: string
}

export const nameContent = (content: string): NamedContent => ({ ...nameBlob(Buffer.from(content)), content })

/** Reads a blob. `BLOB_MISSING` if it is missing or has another content than its name says. */
export async function readBlob(database: Database, key: string, name: BlobName): Promise<string> {
  const [row] = await database.query(
    'SELECT content FROM stint.blob WHERE session = $1 AND sha256 = $2',
    key,
    String(name.sha256),
  )
  const content = row === undefined ? undefined : String(row.content)
  if (content !== undefined && nameContent(content).sha256 === name.sha256) return content
  throw blobMissing(name)
}

/** A record with its data, read from its blob if it has one. */
export async function readRecordData(database: Database, key: string, record: LogRecord): Promise<LogRecord> {
  if (record.blob === undefined) return record
  return { ...record, data: JSON.parse(await readBlob(database, key, record.blob)) as unknown }
}
