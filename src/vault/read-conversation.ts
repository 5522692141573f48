import { readSync } from 'node:fs'
import { ifPossible } from '../base/errors/if-possible.ts'
import { errorCode, StintError } from '../base/errors/stint-error.ts'
import { closing, nodeDisk, pieceBytes } from '../base/fs/disk.ts'
import { openRegular } from '../base/fs/regular-file.ts'
import { type ConversationRecord, type CopyLine } from './conversation-record.ts'
import { type Entry, entriesOf, exportedEntries } from './transcript.ts'

/** A longer line, such as one with an image, comes in parts, so that memory is bounded. */
const maxPartBytes = 8 << 20
/** Parts of a line overlap, so that a text at the end of one is found in the next. */
const overlapBytes = 64 << 10
const newline = 0x0a

/** A line of a transcript, or a part of a long one. */
export interface TranscriptLine {
  /** Counted from 1. */
  number: number
  text: string
  /** The line is too long to be read as a whole. */
  isPart: boolean
}

/** The bytes of an open file from `start` to `end`, or to its end; each piece is valid until the next one. */
export function* piecesOf(fd: number, start: number, end: number): Generator<Buffer> {
  const piece = Buffer.allocUnsafe(Math.min(pieceBytes, Math.max(1, end - start)))
  for (let position = start; position < end;) {
    const length = readSync(fd, piece, 0, Math.min(piece.length, end - position), position)
    if (length === 0) return
    yield piece.subarray(0, length)
    position += length
  }
}

/** The beginning of a file as text; none if it cannot be read. */
export function readHead(path: string, maxBytes = 64 << 10): string {
  const read = (): string => {
    const { fd, size } = openRegular(path)
    using file = closing(nodeDisk, fd)
    const bytes = Buffer.allocUnsafe(Math.min(size, maxBytes))
    return bytes.toString('utf8', 0, readSync(file.fd, bytes, 0, bytes.length, 0))
  }
  return ifPossible(read) ?? ''
}

/** The lines of all texts of a conversation, in their newest generation. */
export function* linesOf(record: ConversationRecord): Generator<TranscriptLine & { file: string }> {
  for (const copy of record.newest) {
    // Compressed files and databases are kept, but not read.
    if (/\.(?:zst|db)$/.test(copy.file)) continue
    for (const line of linesIn(record, copy)) yield { file: copy.file, ...line }
  }
}

function* linesIn(record: ConversationRecord, copy: CopyLine): Generator<TranscriptLine> {
  let carry = Buffer.alloc(0)
  let isPart = false
  let number = 1
  for (const piece of storedPieces(record, copy)) {
    const bytes = Buffer.concat([carry, piece])
    let start = 0
    for (let end = bytes.indexOf(newline); end >= 0; end = bytes.indexOf(newline, start)) {
      yield { number, text: bytes.toString('utf8', start, end), isPart }
      isPart = false
      number += 1
      start = end + 1
    }
    carry = bytes.subarray(start)
    if (carry.length <= maxPartBytes) continue
    isPart = true
    yield { number, text: carry.toString(), isPart }
    carry = Buffer.from(carry.subarray(-overlapBytes))
  }
  if (carry.length > 0) yield { number, text: carry.toString(), isPart }
}

/** Opens a stored file. Throws `VAULT_DAMAGED` if it is gone, or is no file any more. */
export function openStored(path: string) {
  try {
    return closing(nodeDisk, openRegular(path).fd)
  } catch (cause) {
    const code = errorCode(cause) ?? ''
    if (!['ENOENT', 'ENOTDIR', 'EISDIR', 'ELOOP'].includes(code)) throw cause
    throw new StintError('VAULT_DAMAGED', `${path} cannot be read: ${code}`, { cause })
  }
}

/** The stored bytes of a file, as far as this copy has acknowledged them. */
function* storedPieces(record: ConversationRecord, copy: CopyLine): Generator<Buffer> {
  using file = openStored(record.pathOf(copy))
  yield* piecesOf(file.fd, 0, copy.bytes)
}

/** Who said what in a file of a conversation; by default in its transcript. */
export function* readEntries(record: ConversationRecord, agent: string, name?: string): Generator<Entry> {
  if (agent === 'opencode') {
    const copy = newestCopy(record, name)
    const document = Buffer.concat(Array.from(storedPieces(record, copy), (piece) => Buffer.from(piece)))
    for (const [index, entry] of exportedEntries(String(document)).entries())
      yield { line: index + 1, ...entry }
    return
  }
  let longLine = 0
  for (const { text, isPart, number: line } of linesIn(record, newestCopy(record, name)))
    if (!isPart) for (const entry of entriesOf(text)) yield { line, ...entry }
    else if (line > longLine) yield { line: (longLine = line), who: 'tool', text: '[too long to be shown]' }
}

/** The bytes of a file of a conversation, as they are; each piece is valid until the next one. */
export const rawBytes = (record: ConversationRecord, name?: string): Generator<Buffer> =>
  storedPieces(record, newestCopy(record, name))

function newestCopy(record: ConversationRecord, name: string | undefined): CopyLine {
  const copy = name === undefined ? record.transcript : record.files.get(name)?.at(-1)
  if (copy !== undefined) return copy
  throw new StintError('NOT_FOUND', 'this conversation has no such file', {
    hint: `It has ${[...record.files.keys()].slice(0, 10).join(', ')}.`,
  })
}
