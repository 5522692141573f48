import { createHash } from 'node:crypto'
import { join } from 'node:path'
import { replaceFile } from '../../base/fs/atomic-file.ts'
import { type Disk, ensureDirectory, listIfExists, readFile } from '../../base/fs/disk.ts'
import { StintError } from '../../base/errors/stint-error.ts'
import type { BlobName } from './record.ts'

/** Names content by its hash. */
export const nameBlob = (content: Buffer): BlobName => ({
  sha256: createHash('sha256').update(content).digest('hex'),
  bytes: content.length,
})

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

  /** Stores content. On return it is on disk, and a record may name it. */
  put(content: string): BlobName {
    const bytes = Buffer.from(content)
    const name = nameBlob(bytes)
    if (this.#known.has(name.sha256)) return name
    if (!this.#ensured) ensureDirectory(this.#disk, this.#directory)
    this.#ensured = true
    if (this.#read(name) === undefined) replaceFile(this.#path(name), bytes, this.#disk)
    // Another process may have written the file and not yet synced its name.
    else this.#disk.syncDirectory(this.#directory)
    this.#known.add(name.sha256)
    return name
  }

  /** Reads content. `BLOB_MISSING` if the file is missing or does not match its name. */
  get(name: BlobName): string {
    const bytes = this.#read(name)
    if (bytes !== undefined) return bytes.toString()
    throw blobMissing(name)
  }

  /** Removes all blobs but these. */
  keepOnly(names: ReadonlySet<string>): void {
    for (const file of listIfExists(this.#disk, this.#directory)) {
      const name = file.slice(0, 64)
      if (names.has(name)) continue
      this.#known.delete(name)
      this.#disk.unlink(join(this.#directory, file))
    }
  }

  /** The file of a blob, whether or not it exists; undefined for an invalid name: the line may be damaged. */
  pathOf(name: BlobName): string | undefined {
    return /^[0-9a-f]{64}$/.test(name.sha256) ? this.#path(name) : undefined
  }

  #read(name: BlobName): Buffer | undefined {
    const path = this.pathOf(name)
    const bytes = path === undefined ? undefined : readFile(this.#disk, path)
    return bytes !== undefined && nameBlob(bytes).sha256 === name.sha256 ? bytes : undefined
  }

  #path({ sha256 }: BlobName): string {
    return join(this.#directory, sha256 + this.#suffix)
  }
}
