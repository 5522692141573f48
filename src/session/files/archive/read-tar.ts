import { blockBytes, invalidArchive, paddingAfter, parseTarHeader, type TarEntry } from './tar.ts'

/** An entry with its content, which must be read before the next entry is asked for. */
export interface ReadEntry extends TarEntry {
  content: () => AsyncGenerator<Buffer>
}

/** The entries of an archive as it comes in. Memory does not grow with it. An archive that stops in the middle is `ARCHIVE_INVALID`. */
export async function* readTar(chunks: AsyncIterable<Buffer>): AsyncGenerator<ReadEntry> {
  const source = new Source(chunks)
  for (;;) {
    const entry = parseTarHeader(await source.take(blockBytes))
    if (entry === 'end') return
    let read = false
    yield {
      ...entry,
      content() {
        read = true
        return source.pieces(entry.size)
      },
    }
    if (!read) for await (const _ of source.pieces(entry.size));
    await source.take(paddingAfter(entry.size))
  }
}

/** Gives out what comes in in other portions. */
class Source {
  readonly #chunks: AsyncIterator<Buffer>
  #held: Buffer = Buffer.alloc(0)

  constructor(chunks: AsyncIterable<Buffer>) {
    this.#chunks = chunks[Symbol.asyncIterator]()
  }

  async take(length: number): Promise<Buffer> {
    const pieces: Buffer[] = []
    for await (const piece of this.pieces(length)) pieces.push(piece)
    return Buffer.concat(pieces)
  }

  async *pieces(length: number): AsyncGenerator<Buffer> {
    for (let left = length; left > 0;) {
      if (this.#held.length === 0) await this.#more()
      const piece = this.#held.subarray(0, left)
      this.#held = this.#held.subarray(piece.length)
      left -= piece.length
      yield piece
    }
  }

  async #more(): Promise<void> {
    const { value, done } = await this.#chunks.next()
    if (done) throw invalidArchive('it ends in the middle')
    this.#held = value
  }
}
