import { join } from 'node:path'
import { replaceOnDisk } from '../../base/fs/atomic-file.ts'
import { closing, type Disk, ensureDirectory, pieceBytes, readLargeFile } from '../../base/fs/disk.ts'
import { ifRegular } from '../../base/fs/regular-file.ts'
import { giveWay } from '../../base/process/event-loop.ts'
import { nameBlob } from '../log/read.ts'

/** Content in files that are named by its hash. The same content is stored once. */
export class BlobFiles {
  readonly #disk: Disk
  readonly #directory: string
  /** The blobs that this process has stored, or has found on disk. */
  readonly #known = new Set<string>()
  #ensured = false

  constructor(disk: Disk, directory: string) {
    this.#disk = disk
    this.#directory = directory
  }

  /** Stores content. When it resolves, the content is on disk, and a record may name it. */
  async put(sha256: string, content: Uint8Array): Promise<void> {
    if (this.#known.has(sha256)) return
    if (!this.#ensured) await ensureDirectory(this.#disk, this.#directory)
    this.#ensured = true
    const path = join(this.#directory, sha256)
    const stored = await readLargeFile(this.#disk, path)
    if (stored === undefined || (await nameBlob(stored)).sha256 !== sha256)
      await replaceOnDisk(this.#disk, path, content)
    // Another process may have written the file and not yet synced its name.
    else await this.#disk.syncDirectory(this.#directory)
    this.#known.add(sha256)
  }

  /** The content of a blob in pieces, as the file has it; none if there is no such file. */
  async *read(sha256: string): AsyncGenerator<Buffer> {
    const disk = this.#disk
    const fd = ifRegular(() => disk.openToRead(join(this.#directory, sha256)))
    if (fd === undefined) return
    using file = closing(disk, fd)
    for (let offset = 0; ;) {
      const piece = Buffer.allocUnsafe(Math.min(pieceBytes, disk.size(file.fd) - offset))
      const got = piece.length === 0 ? 0 : disk.read(file.fd, piece, offset)
      if (got === 0) return
      yield piece.subarray(0, got)
      offset += got
      await giveWay()
    }
  }
}
