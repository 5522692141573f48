import { StintError } from '../../../base/errors/stint-error.ts'
import { visibleText } from '../../../base/text/escape.ts'

/** The size of a block in POSIX `tar` (ustar): each entry is a header block and its content in blocks. */
const blockBytes = 512

export interface TarEntry {
  name: string
  kind: 'file' | 'directory'
  size: number
}

/** The number of bytes that fill the last block of a content. */
export const paddingAfter = (size: number): number => (blockBytes - (size % blockBytes)) % blockBytes

/** The end of an archive: two empty blocks. */
export const tarEnd = (): Buffer => Buffer.alloc(2 * blockBytes)

const fields = {
  name: [0, 100],
  mode: [100, 8],
  uid: [108, 8],
  gid: [116, 8],
  size: [124, 12],
  mtime: [136, 12],
  checksum: [148, 8],
  type: [156, 1],
  magic: [257, 6],
  version: [263, 2],
  prefix: [345, 155],
} as const
type Field = keyof typeof fields

const largestSize = 0o77777777777

/** Makes the header of an entry: 0600 for files, 0700 for directories. */
export function tarHeader({ name, kind, size }: TarEntry, mtimeMs: number): Buffer {
  if (size > largestSize)
    throw new StintError('ARG_ERROR', `${name} is too large for an archive: ${size} bytes`)
  const header = Buffer.alloc(blockBytes)
  const put = (field: Field, text: string): void => void header.write(text, fields[field][0], 'latin1')
  const octal = (field: Field, value: number): void =>
    put(field, value.toString(8).padStart(fields[field][1] - 1, '0'))
  const [prefix, last] = splitName(name)
  put('name', last)
  put('prefix', prefix)
  octal('mode', kind === 'file' ? 0o600 : 0o700)
  octal('uid', 0)
  octal('gid', 0)
  octal('size', size)
  octal('mtime', Math.max(0, Math.min(largestSize, Math.floor(mtimeMs / 1000))))
  put('type', kind === 'file' ? '0' : '5')
  put('magic', 'ustar')
  put('version', '00')
  put('checksum', `${checksumOf(header).toString(8).padStart(6, '0')}\0 `)
  return header
}

/** Splits a name of more than 100 bytes at a slash. */
function splitName(name: string): [prefix: string, last: string] {
  if (name.length <= fields.name[1]) return ['', name]
  const at = name.indexOf('/', name.length - fields.name[1] - 1)
  if (at <= 0 || at > fields.prefix[1])
    throw new StintError('ARG_ERROR', `the name ${name} is too long for an archive`)
  return [name.slice(0, at), name.slice(at + 1)]
}

/**
 * Parses a header; `end` for the end of the archive. `ARCHIVE_INVALID` for an invalid header, and for every
 * entry that is neither a file nor a directory: a link leads out of the archive, and a session has no
 * devices.
 */
function parseTarHeader(block: Buffer): TarEntry | 'end' {
  if (block.every((byte) => byte === 0)) return 'end'
  const text = (field: Field): string => {
    const [start, length] = fields[field]
    return block.toString('latin1', start, start + length).replace(/\0.*$/s, '')
  }
  const magic = text('magic')
  if (magic.trimEnd() !== 'ustar') throw invalidArchive('it is not a tar archive')
  if (octalOf(text('checksum')) !== checksumOf(block))
    throw invalidArchive('the checksum of a header is wrong')
  const size = octalOf(text('size'))
  if (size === undefined) throw invalidArchive('the size of an entry is invalid')
  // GNU's format uses the field of the prefix for other data.
  const prefix = magic === 'ustar' ? text('prefix') : ''
  const name = prefix === '' ? text('name') : `${prefix}/${text('name')}`
  const type = text('type')
  if (type === '5') return { name, kind: 'directory', size: 0 }
  if (type !== '0' && type !== '') throw invalidArchive(`${JSON.stringify(name)} is not a regular file`)
  return { name, kind: 'file', size }
}

/** The sum of all bytes of a header, with blanks in the place of the checksum. */
function checksumOf(block: Buffer): number {
  const [start, length] = fields.checksum
  let sum = 0
  for (const [i, byte] of block.entries()) sum += i >= start && i < start + length ? 0x20 : byte
  return sum
}

const octalOf = (text: string): number | undefined =>
  /^ *[0-7]+ *$/.test(text) ? Number.parseInt(text.trim(), 8) : undefined

export const invalidArchive = (why: string): StintError =>
  new StintError('ARCHIVE_INVALID', `the archive cannot be imported: ${visibleText(why)}`)

/** An entry with its content, which must be read before the next entry. */
export interface ReadEntry extends TarEntry {
  content: () => AsyncGenerator<Buffer>
}

/** Reads the entries of an archive, in little memory. `ARCHIVE_INVALID` if the archive is cut off. */
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

/** Cuts the chunks of a stream into pieces of other sizes. */
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
