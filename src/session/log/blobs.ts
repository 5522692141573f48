import { createHash } from 'node:crypto'
import { StintError } from '../../base/errors/stint-error.ts'
import { pieceBytes } from '../../base/fs/disk.ts'
import { giveWay } from '../../base/process/event-loop.ts'
import type { ReadableMedium } from '../medium.ts'
import type { BlobName } from './record.ts'

/** Names content by its hash. A large one does not keep the event loop. */
export async function nameBlob(content: Buffer): Promise<BlobName> {
  const hash = createHash('sha256')
  for (let at = 0; at < content.length; at += pieceBytes) {
    if (at > 0) await giveWay()
    hash.update(content.subarray(at, at + pieceBytes))
  }
  return { sha256: hash.digest('hex'), bytes: content.length }
}

/** Reads the content of a blob. `BLOB_MISSING` if it is missing or does not match its name. */
export async function readBlob(medium: ReadableMedium, name: BlobName): Promise<string> {
  const bytes = await findBlob(medium, name)
  if (bytes !== undefined) return bytes.toString()
  throw new StintError('BLOB_MISSING', `blob ${String(name.sha256).slice(0, 64)} is missing or changed`)
}

/** The content of a blob; undefined if it is missing or does not match its name. */
export async function findBlob(medium: ReadableMedium, { sha256 }: BlobName): Promise<Buffer | undefined> {
  // The name comes from a line, which may be damaged.
  if (!/^[0-9a-f]{64}$/.test(sha256)) return undefined
  const pieces: Uint8Array[] = []
  for await (const piece of medium.blob(sha256)) pieces.push(piece)
  const bytes = Buffer.concat(pieces)
  return pieces.length > 0 && (await nameBlob(bytes)).sha256 === sha256 ? bytes : undefined
}
