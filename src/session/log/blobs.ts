import { createHash } from 'node:crypto'
import { join } from 'node:path'
import { replaceFileSteps } from '../../base/fs/atomic-file.ts'
import { type Disk, ensureDirectory, listIfExists, readFileSteps } from '../../base/fs/disk.ts'
import { type DiskSteps, pieceBytes } from '../../base/fs/disk-steps.ts'
import { runToEnd } from '../../base/process/run-generator.ts'
import { StintError } from '../../base/errors/stint-error.ts'
import type { BlobName } from './record.ts'

/** Names content by its hash. */
export const nameBlob = (content: Buffer): BlobName => runToEnd(nameInSteps(content))

/** Names content like `nameBlob`, in steps. */
export function* nameInSteps(content: Buffer): Generator<void, BlobName> {
  const hash = createHash('sha256')
  for (let at = 0; at < content.length; at += pieceBytes) {
    if (at > 0) yield
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

  /** Stores content. At the end of the steps it is on disk, and a record may name it. */
  *put(content: string): DiskSteps<BlobName> {
    const bytes = Buffer.from(content)
    const name = yield* nameInSteps(bytes)
    if (this.#known.has(name.sha256)) return name
    if (!this.#ensured) yield* ensureDirectory(this.#disk, this.#directory)
    this.#ensured = true
    if ((yield* this.#read(name)) === undefined) yield* replaceFileSteps(this.#path(name), bytes, this.#disk)
    // Another process may have written the file and not yet synced its name.
    else yield { call: 'syncDirectory', path: this.#directory }
    this.#known.add(name.sha256)
    return name
  }

  /** Reads content. `BLOB_MISSING` if the file is missing or does not match its name. */
  *get(name: BlobName): Generator<void, string> {
    const bytes = yield* this.#read(name)
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

  *#read(name: BlobName): Generator<void, Buffer | undefined> {
    const path = this.pathOf(name)
    const bytes = path === undefined ? undefined : yield* readFileSteps(this.#disk, path)
    return bytes !== undefined && (yield* nameInSteps(bytes)).sha256 === name.sha256 ? bytes : undefined
  }

  #path({ sha256 }: BlobName): string {
    return join(this.#directory, sha256 + this.#suffix)
  }
}
