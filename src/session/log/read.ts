import { createHash } from 'node:crypto'
import { StintError } from '../../base/errors/stint-error.ts'
import { pieceBytes } from '../../base/fs/disk.ts'
import { giveWay } from '../../base/process/event-loop.ts'
import type { ReadableMedium } from '../medium.ts'
import type { LogName } from './codec.ts'
import {
  type BlobName,
  type CheckedHeader,
  linesBackwards,
  linesForwards,
  type LogRecord,
  parseLogRecord,
} from './record.ts'

/** The first and the last `seq` to read. Up to `attested`, records are known to count. */
export interface LogRange {
  from?: number
  to?: number
  attested?: number
}

/** A reader looks at the time after this many records. */
const recordsPerLook = 32

/**
 * Reads the records of a log in order, up to the first that is damaged or missing, and without those of an
 * append that is not complete. Another process may write meanwhile.
 */
export async function* readRecords(
  medium: ReadableMedium,
  log: LogName,
  { from = 1, to = Number.POSITIVE_INFINITY, attested = 0 }: LogRange = {},
): AsyncGenerator<LogRecord> {
  let wanted = from
  let isFound = false
  /** Records that count only together with one that has not come yet. */
  let unfinished: LogRecord[] = []
  for await (const region of medium.regions(log, { from, backwards: false })) {
    for (const line of linesForwards(region)) {
      const { seq, continued } = line.header ?? {}
      // The first region may begin before the record.
      if (!isFound && seq !== wanted && (seq === undefined || seq < wanted)) continue
      isFound = true
      if (seq !== wanted || (seq > to && unfinished.length === 0)) return
      wanted += 1
      if (seq <= to) unfinished.push(parseLogRecord(line.bytes))
      if (seq > attested && continued) continue
      for (const record of unfinished) yield await withData(medium, record)
      unfinished = []
      if (wanted % recordsPerLook === 0) await giveWay()
    }
  }
}

/**
 * Reads the records of a log from the last intact one backwards, without those after `to`, and without those
 * of an append that is not complete.
 */
export async function* readBackwards(
  medium: ReadableMedium,
  log: LogName,
  { to = Number.MAX_SAFE_INTEGER, attested = 0 }: LogRange = {},
): AsyncGenerator<LogRecord> {
  let next: number | undefined
  for await (const region of medium.regions(log, { from: to, backwards: true })) {
    for (const line of linesBackwards(region)) {
      const { seq, continued } = line.header ?? {}
      if (next === undefined && (seq === undefined || seq > to)) continue
      if (seq === undefined || seq !== (next ?? seq)) return
      if (next === undefined && seq > attested && continued) continue
      yield await withData(medium, parseLogRecord(line.bytes))
      next = seq - 1
      if (next % recordsPerLook === 0) await giveWay()
    }
  }
}

/** The header of the last record of the journal that counts; undefined if there is none. */
export async function lastRecord(
  medium: ReadableMedium,
  attested: number,
): Promise<CheckedHeader | undefined> {
  for await (const region of medium.regions('journal', { from: Number.MAX_SAFE_INTEGER, backwards: true }))
    for (const { header } of linesBackwards(region))
      if (header !== undefined && (header.seq <= attested || !header.continued)) return header
  return undefined
}

/** A record with its data, read from its blob if it has one. */
async function withData(medium: ReadableMedium, record: LogRecord): Promise<LogRecord> {
  if (record.blob === undefined) return record
  return { ...record, data: JSON.parse(await readBlob(medium, record.blob)) as unknown }
}

/** Names content by its hash. A large one does not keep the event loop. */
export async function nameBlob(content: Buffer): Promise<BlobName> {
  const hash = createHash('sha256')
  for (let at = 0; at < content.length; at += pieceBytes) {
    if (at > 0) await giveWay()
    hash.update(content.subarray(at, at + pieceBytes))
  }
  return { sha256: hash.digest('hex'), bytes: content.length }
}

/** Reads the content of a blob. `BLOB_MISSING` if it is missing or does not match its name. */
export async function readBlob(medium: ReadableMedium, name: BlobName): Promise<string> {
  const bytes = await findBlob(medium, name)
  if (bytes !== undefined) return bytes.toString()
  throw new StintError('BLOB_MISSING', `blob ${String(name.sha256).slice(0, 64)} is missing or changed`)
}

/** The content of a blob; undefined if it is missing or does not match its name. */
export async function findBlob(medium: ReadableMedium, { sha256 }: BlobName): Promise<Buffer | undefined> {
  // The name comes from a line, which may be damaged.
  if (!/^[0-9a-f]{64}$/.test(sha256)) return undefined
  const pieces: Uint8Array[] = []
  for await (const piece of medium.blob(sha256)) pieces.push(piece)
  const bytes = Buffer.concat(pieces)
  return pieces.length > 0 && (await nameBlob(bytes)).sha256 === sha256 ? bytes : undefined
}
