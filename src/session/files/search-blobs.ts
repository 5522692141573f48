import { closing, listIfExists } from '../../base/fs/disk.ts'
import { ifRegular } from '../../base/fs/regular-file.ts'
import { giveWay } from '../../base/process/event-loop.ts'
import type { BlobName } from '../log/record.ts'
import { fillFrom } from '../log/regions-backwards.ts'
import type { Match, SearchQuery } from '../search-query.ts'
import type { SessionDirectory } from './session-directory.ts'

const windowBytes = 256 << 10
/** How much of a window the next one has, too. A longer match of a regular expression may be missed. */
const overlapBytes = 64 << 10

/** Searches the blobs of a session, each once, a part at a time: a blob may be of any size. */
export class BlobSearch {
  /** Has the session any blobs? */
  readonly exist: boolean
  readonly #directory: SessionDirectory
  readonly #query: SearchQuery
  readonly #onBytes: (bytes: number) => void
  readonly #needles: readonly Buffer[] | undefined
  readonly #found = new Map<string, Match | undefined>()

  constructor(directory: SessionDirectory, query: SearchQuery, onBytes: (bytes: number) => void) {
    this.#directory = directory
    this.#query = query
    this.#onBytes = onBytes
    this.#needles = query.needles?.map((text) => Buffer.from(text))
    this.exist = listIfExists(directory.disk, directory.paths.blobs).length > 0
  }

  /** The first match in a blob; undefined without one, and for a blob that is missing. */
  async find(name: BlobName): Promise<Match | undefined> {
    const { sha256 } = name
    if (!this.#found.has(sha256)) this.#found.set(sha256, await this.#search(name))
    return this.#found.get(sha256)
  }

  async #search(name: BlobName): Promise<Match | undefined> {
    const { disk, blobs } = this.#directory
    const path = blobs.pathOf(name)
    const fd = path === undefined ? undefined : ifRegular(() => disk.openToRead(path))
    if (fd === undefined) return undefined
    using file = closing(disk, fd)
    const size = disk.size(file.fd)
    const longest = Math.max(0, ...(this.#needles ?? []).map(({ length }) => length))
    const step = windowBytes
    const buffer = Buffer.allocUnsafe(Math.min(size, step + overlapBytes + longest))
    for (let start = 0; start < size; start += step) {
      const window = buffer.subarray(0, Math.min(buffer.length, size - start))
      await fillFrom(file.fd, window, start)
      this.#onBytes(Math.min(step, window.length))
      if (this.#needles?.some((needle) => window.includes(needle)) ?? true) {
        const match = this.#query.inJsonPart(window.toString(), start === 0)
        if (match !== undefined) return match
      }
      await giveWay()
    }
    return undefined
  }
}
