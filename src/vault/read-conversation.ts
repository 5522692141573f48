import { closeSync, readSync } from 'node:fs'
import { StintError } from '../base/errors/stint-error.ts'
import { openRegular } from '../base/fs/regular-file.ts'
import { type ConversationRecord, readRecord, type StoredFile, transcriptOf } from './conversation-record.ts'
import { piecesOf } from './copy-conversation.ts'
import { type Entry, entriesOf, exportedEntries } from './transcript.ts'

/** A longer line, such as one with an image, comes in parts, so that memory is bounded. */
const maxPartBytes = 8 << 20
/** Parts of a line overlap, so that a text at the end of one is found in the next. */
const overlapBytes = 64 << 10
/** How much of a transcript is read for its title and workspace. */
export const headBytes = 64 << 10
const newline = 0x0a

/** A line of a transcript, or a part of a long one. */
export interface TranscriptLine {
  /** Counted from 1. */
  number: number
  text: string
  /** The line is too long to be read as a whole. */
  isPart: boolean
}

/** The beginning of a file as text. */
export function readHead(path: string, maxBytes: number): string {
  const { fd, size } = openRegular(path)
  try {
    const bytes = Buffer.allocUnsafe(Math.min(size, maxBytes))
    return bytes.toString('utf8', 0, readSync(fd, bytes, 0, bytes.length, 0))
  } finally {
    closeSync(fd)
  }
}

/** The lines in the first `length` bytes of a file. */
function* linesIn(path: string, length: number): Generator<TranscriptLine> {
  const { fd } = openRegular(path)
  try {
    let carry = Buffer.alloc(0)
    let isPart = false
    let number = 1
    for (const piece of piecesOf(fd, 0, length)) {
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
  } finally {
    closeSync(fd)
  }
}

/** The lines of all texts of a conversation, in their newest generation. */
export function* linesOf(directory: string): Generator<TranscriptLine & { file: string }> {
  const record = readRecord(directory)
  for (const file of record.files.values()) {
    // Compressed files and databases are kept, but not read.
    if (/\.(?:zst|db)$/.test(file.name)) continue
    for (const line of linesIn(...newestOf(record, file))) yield { file: file.name, ...line }
  }
}

/** Who said what in a file of a conversation; by default in its transcript. */
export function* readEntries(directory: string, agent: string, name?: string): Generator<Entry> {
  const [path, length] = fileOf(directory, name)
  if (agent === 'opencode')
    for (const [index, entry] of exportedEntries(readHead(path, length)).entries())
      yield { line: index + 1, ...entry }
  else
    for (const { text, isPart, number: line } of linesIn(path, length))
      if (isPart) yield { line, who: 'tool', text: `[line ${line} is too long to be shown]` }
      else for (const entry of entriesOf(text)) yield { line, ...entry }
}

/** The bytes of a file of a conversation, as they are. */
export function* rawBytes(directory: string, name?: string): Generator<Buffer> {
  const [path, length] = fileOf(directory, name)
  const { fd } = openRegular(path)
  try {
    yield* piecesOf(fd, 0, length)
  } finally {
    closeSync(fd)
  }
}

function fileOf(directory: string, name: string | undefined): [path: string, length: number] {
  const record = readRecord(directory)
  const file = name === undefined ? transcriptOf(record) : record.files.get(name)
  if (file !== undefined) return newestOf(record, file)
  throw new StintError('NOT_FOUND', 'this conversation has no such file', {
    hint: `It has ${[...record.files.keys()].slice(0, 10).join(', ')}.`,
  })
}

function newestOf(
  record: ConversationRecord,
  { name, last, versions }: StoredFile,
): [path: string, length: number] {
  return [record.pathOf(name, last.generation), versions.get(last.generation)?.length ?? 0]
}
