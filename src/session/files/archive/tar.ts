import { StintError } from '../../../base/errors/stint-error.ts'

/** The format of `tar` as POSIX has it (ustar): a block with name and size, then the content, in blocks. */
export const blockBytes = 512

export interface TarEntry {
  name: string
  kind: 'file' | 'directory'
  size: number
}

/** What fills the last block of a content. */
export const paddingAfter = (size: number): number => (blockBytes - (size % blockBytes)) % blockBytes

/** After the last entry: two empty blocks. */
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

/** The block before a content. Private, like everything of a session: 0600, directories 0700. */
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

/** Names of up to 100 bytes fit as they are; longer ones are split at a slash. */
function splitName(name: string): [prefix: string, last: string] {
  if (name.length <= fields.name[1]) return ['', name]
  const at = name.indexOf('/', name.length - fields.name[1] - 1)
  if (at <= 0 || at > fields.prefix[1])
    throw new StintError('ARG_ERROR', `the name ${name} is too long for an archive`)
  return [name.slice(0, at), name.slice(at + 1)]
}

/**
 * An entry of somebody's archive; `end` at its end. Throws `ARCHIVE_INVALID` for what is no header, and for every entry that is neither a
 * file nor a directory: links lead elsewhere, and the rest nobody needs.
 */
export function parseTarHeader(block: Buffer): TarEntry | 'end' {
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
  if (size === undefined) throw invalidArchive('the size of an entry makes no sense')
  // GNU's own format has something else in that place.
  const prefix = magic === 'ustar' ? text('prefix') : ''
  const name = prefix === '' ? text('name') : `${prefix}/${text('name')}`
  const type = text('type')
  if (type === '5') return { name, kind: 'directory', size: 0 }
  if (type !== '0' && type !== '') throw invalidArchive(`${JSON.stringify(name)} is not a regular file`)
  return { name, kind: 'file', size }
}

/** The sum of all bytes, with blanks in place of itself. */
function checksumOf(block: Buffer): number {
  const [start, length] = fields.checksum
  let sum = 0
  for (const [i, byte] of block.entries()) sum += i >= start && i < start + length ? 0x20 : byte
  return sum
}

const octalOf = (text: string): number | undefined =>
  /^ *[0-7]+ *$/.test(text) ? Number.parseInt(text.trim(), 8) : undefined

export const invalidArchive = (why: string): StintError =>
  new StintError('ARCHIVE_INVALID', `the archive cannot be imported: ${why}`)
