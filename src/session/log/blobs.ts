import { createHash } from 'node:crypto'
import { join } from 'node:path'
import { replaceOnDisk } from '../../base/fs/atomic-file.ts'
import { type Disk, ensureDirectory, listIfExists, pieceBytes, readLargeFile } from '../../base/fs/disk.ts'
import { giveWay } from '../../base/process/event-loop.ts'
import { StintError } from '../../base/errors/stint-error.ts'
import type { BlobName } from './record.ts'

/** Names content by its hash. */
export const nameBlob = (content: Buffer): BlobName => ({
  sha256: createHash('sha256').update(content).digest('hex'),
  bytes: content.length,
})

/** Names content like `nameBlob`; a large one does not keep the event loop. */
export async function nameInTurns(content: Buffer): Promise<BlobName> {
  const hash = createHash('sha256')
  for (let at = 0; at < content.length; at += pieceBytes) {
    if (at > 0) await giveWay()
    hash.update(content.subarray(at, at + pieceBytes))
  }
  return { sha256: hash.digest('hex'), bytes: content.length }
}

export const blobMissing = ({ sha256 }: BlobName): StintError =>
  new StintError('BLOB_MISSING', `blob ${String(sha256).slice(0, 64)} is missing or changed`)

/** Content in files that are named by its hash. The same content is stored once. */
export class Blobs {
  readonly #disk: Disk
  readonly #directory: string
  readonly #suffix: string
  /** The blobs that this process has stored, or has found on disk. */
  readonly #known = new Set<string>()
  #ensured = false

  constructor(disk: Disk, directory: string, suffix = '') {
    this.#disk = disk
    this.#directory = directory
    this.#suffix = suffix
  }

  /** Stores content. When it resolves, the content is on disk, and a record may name it. */
  async put(content: string): Promise<BlobName> {
    const bytes = Buffer.from(content)
    const name = await nameInTurns(bytes)
    if (this.#known.has(name.sha256)) return name
    if (!this.#ensured) await ensureDirectory(this.#disk, this.#directory)
    this.#ensured = true
    if ((await this.#read(name)) === undefined) await replaceOnDisk(this.#disk, this.#path(name), bytes)
    // Another process may have written the file and not yet synced its name.
    else await this.#disk.syncDirectory(this.#directory)
    this.#known.add(name.sha256)
    return name
  }

  /** Reads content. `BLOB_MISSING` if the file is missing or does not match its name. */
  async get(name: BlobName): Promise<string> {
    const bytes = await this.#read(name)
    if (bytes !== undefined) return bytes.toString()
    throw blobMissing(name)
  }

  /** Removes all blobs but these. */
  async keepOnly(names: ReadonlySet<string>): Promise<void> {
    for (const file of listIfExists(this.#disk, this.#directory)) {
      const name = file.slice(0, 64)
      if (names.has(name)) continue
      this.#known.delete(name)
      await this.#disk.unlink(join(this.#directory, file))
    }
  }

  /** The file of a blob, whether or not it exists; undefined for an invalid name: the line may be damaged. */
  pathOf(name: BlobName): string | undefined {
    return /^[0-9a-f]{64}$/.test(name.sha256) ? this.#path(name) : undefined
  }

  async #read(name: BlobName): Promise<Buffer | undefined> {
    const path = this.pathOf(name)
    const bytes = path === undefined ? undefined : await readLargeFile(this.#disk, path)
    return bytes !== undefined && (await nameInTurns(bytes)).sha256 === name.sha256 ? bytes : undefined
  }

  #path({ sha256 }: BlobName): string {
    return join(this.#directory, sha256 + this.#suffix)
  }
}
