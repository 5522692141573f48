import { StintError } from '../base/errors/stint-error.ts'
import { giveWay } from '../base/process/event-loop.ts'
import { durationMs } from '../base/text/duration.ts'
import { lastRecord } from './log/read.ts'
import { type BlobName, checkRecord, parseLogRecord } from './log/record.ts'
import { attestedBy } from './manifest.ts'
import type { Medium, ReadableMedium } from './medium.ts'
import { type FoundRecord, type Match, SearchQuery } from './search-query.ts'
import type { FoundEvent, SearchOptions, SessionSummary } from './store.ts'

/** Searches sessions, in the order given; in each, the newest record first. */
export async function* searchSessions(
  medium: Medium,
  sessions: readonly SessionSummary[],
  pattern: string | RegExp,
  { type, since, onBytes, onUnreadable }: SearchOptions,
  now: number,
): AsyncGenerator<FoundEvent> {
  const from = since === undefined ? 0 : now - durationMs(since, 'since')
  const query = new SearchQuery(pattern, { type, since: from })
  let bytes = 0
  const addBytes = (more: number): void => onBytes?.((bytes += more))
  for (const session of sessions) {
    try {
      if (session.lastAt < from) continue
      for await (const record of searchLog(await medium.read(session.id), query, addBytes))
        yield { session, ...record }
    } catch (error) {
      if (!(error instanceof StintError) || onUnreadable === undefined) throw error
      // Sessions come and go: one that was removed meanwhile has no events.
      if (error.code !== 'NOT_FOUND') onUnreadable(session, error)
    }
  }
}

const newline = 0x0a
const blobField = ',"blob":{"sha256":"'

/**
 * Searches the journal of a session, newest record first. Bytes are compared first: a line is checked and
 * parsed only if a needle of the query is in it, or if it names a blob. `onBytes` is called with the size of
 * each piece that was searched.
 */
async function* searchLog(
  medium: ReadableMedium,
  query: SearchQuery,
  onBytes: (bytes: number) => void,
): AsyncGenerator<FoundRecord> {
  const blobs = new BlobSearch(medium, query, onBytes)
  const needles = query.needles && [...query.needles, blobField].map((text) => new Needle(text))
  let lastWhole: number | undefined
  for await (const region of medium.regions('journal', { from: Number.MAX_SAFE_INTEGER, backwards: true })) {
    onBytes(region.bytes.length)
    for (const [start, end] of linesWith(region.bytes, needles).toReversed()) {
      await giveWay()
      const match = await findIn(region.bytes.subarray(start, end), query, blobs)
      if (match === undefined) continue
      // A writer may have died in the middle of the last append.
      lastWhole ??= (await lastRecord(medium, attestedBy(medium.manifest).seq))?.seq ?? 0
      if (match.seq <= lastWhole) yield match
    }
    await giveWay()
  }
}

/** Looks into the record of a line; undefined if the line is not intact. */
async function findIn(line: Buffer, query: SearchQuery, blobs: BlobSearch): Promise<FoundRecord | undefined> {
  const header = checkRecord(line)
  if (header === undefined || header.at < query.since) return undefined
  const record = parseLogRecord(line)
  if (!query.wants(record)) return undefined
  const match = query.inRecord(record) ?? (record.blob && (await blobs.find(record.blob)))
  return match && { seq: header.seq, at: header.at, type: record.type, ...match }
}

/** The lines of a region that have a needle, each from its first byte to its newline; all without needles. */
function linesWith(region: Buffer, needles: readonly Needle[] | undefined): [start: number, end: number][] {
  const lines = new Map<number, number>()
  const add = (at: number): number => {
    const end = region.indexOf(newline, at)
    if (end > at) lines.set(region.lastIndexOf(newline, at) + 1, end)
    return end < 0 ? region.length : end + 1
  }
  if (needles === undefined) for (let at = 0; at < region.length;) at = add(at)
  for (const needle of needles ?? [])
    for (let at = needle.indexIn(region, 0); at >= 0;) at = needle.indexIn(region, add(at))
  return [...lines].sort(([a], [b]) => a - b)
}

/** How much of a piece is searched with the next. A longer match of a regular expression may be missed. */
const overlapBytes = 64 << 10

/** Searches the blobs of a session, each once, a piece at a time: a blob may be of any size. */
class BlobSearch {
  readonly #medium: ReadableMedium
  readonly #query: SearchQuery
  readonly #onBytes: (bytes: number) => void
  readonly #needles: readonly Buffer[] | undefined
  readonly #matches = new Map<string, Match | undefined>()

  constructor(medium: ReadableMedium, query: SearchQuery, onBytes: (bytes: number) => void) {
    this.#medium = medium
    this.#query = query
    this.#onBytes = onBytes
    this.#needles = query.needles?.map((text) => Buffer.from(text))
  }

  /** The first match in a blob; undefined without one, and for a blob that is missing. */
  async find({ sha256 }: BlobName): Promise<Match | undefined> {
    if (!this.#matches.has(sha256)) this.#matches.set(sha256, await this.#search(sha256))
    return this.#matches.get(sha256)
  }

  async #search(sha256: string): Promise<Match | undefined> {
    const longest = Math.max(0, ...(this.#needles ?? []).map(({ length }) => length))
    let before = Buffer.alloc(0)
    let isFirst = true
    for await (const piece of this.#medium.blob(sha256)) {
      this.#onBytes(piece.length)
      const window = Buffer.concat([before, piece])
      if (this.#needles?.some((needle) => window.includes(needle)) ?? true) {
        const match = this.#query.inJsonPart(window.toString(), isFirst)
        if (match !== undefined) return match
      }
      isFirst = false
      before = window.subarray(-(overlapBytes + longest))
      await giveWay()
    }
    return undefined
  }
}

/** Bytes that lines of JSON are full of, the most frequent first: a search for one of them stops often. */
const frequent = '": etaoinsr,1023456789hldcumfpgwybvk{}[].-_/'

/** A string to be found in bytes. The search begins with its rarest byte, which skips most of the others. */
export class Needle {
  readonly #bytes: Buffer
  readonly #rest: Buffer
  readonly #before: number

  constructor(text: string) {
    this.#bytes = Buffer.from(text)
    const ranks = Array.from(this.#bytes, (byte) => {
      const rank = frequent.indexOf(String.fromCharCode(byte))
      return rank < 0 ? frequent.length : rank
    })
    this.#before = Math.max(0, ranks.indexOf(ranks.reduce((most, rank) => Math.max(most, rank), 0)))
    this.#rest = this.#bytes.subarray(this.#before)
  }

  /** Where the needle begins, from an offset on; -1 if it is not there. */
  indexIn(bytes: Buffer, from: number): number {
    for (let at = from + this.#before; ; at += 1) {
      at = bytes.indexOf(this.#rest, at)
      if (at < 0) return -1
      const start = at - this.#before
      if (this.#before === 0 || this.#bytes.compare(bytes, start, start + this.#bytes.length) === 0)
        return start
    }
  }
}
