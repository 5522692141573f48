import { join } from 'node:path'
import { closing } from '../../base/fs/disk.ts'
import { unless } from '../../base/fs/exists.ts'
import { giveWay } from '../../base/process/event-loop.ts'
import { checksumBytes } from '../log/line-checksum.ts'
import { listSegments, type LogFiles, type Segment } from '../log/log-files.ts'
import { readBackwards } from '../log/read.ts'
import { type CheckedHeader, checkRecord, parseLogRecord } from '../log/record.ts'
import { regionsBackwards } from '../log/regions-backwards.ts'
import type { FoundRecord, SearchQuery } from '../search-query.ts'
import { BlobSearch } from './search-blobs.ts'
import type { SessionDirectory } from './session-directory.ts'

const newline = 0x0a
const blobField = ',"blob":{"sha256":"'
const dataField = ',"data":'

/**
 * Searches the journal of a session, newest record first. Bytes are compared first: a line is checked and
 * parsed only if a needle of the query is in it, or if it names a blob. Up to `attested`, records count even
 * if their append is not complete.
 */
export async function* searchSession(
  directory: SessionDirectory,
  query: SearchQuery,
  onBytes: (bytes: number) => void,
  attested: number,
): AsyncGenerator<FoundRecord> {
  const { disk, paths, logs } = directory
  const blobs = new BlobSearch(directory, query, onBytes)
  const wanted = query.needles?.map((text) => new Needle(text))
  const scanned = query.anchor === undefined ? wanted : [new Needle(query.anchor)]
  const needles = scanned && [...scanned, ...(blobs.exist ? [new Needle(blobField)] : [])]
  let lastWhole: number | undefined
  for (let before = Number.POSITIVE_INFINITY; ;) {
    // Listed again for each segment: the next writer may replace one by a copy.
    const segment = listSegments(logs.journal).findLast(({ firstSeq }) => firstSeq < before)
    if (segment === undefined) return
    const fd = unless(['ENOENT'], () => disk.openToRead(join(paths.root, segment.name)))
    if (fd === undefined) continue
    using file = closing(disk, fd)
    for await (const region of regionsBackwards(file.fd, disk.size(file.fd))) {
      onBytes(region.length)
      for (const [start, end] of linesWith(region, needles).toReversed()) {
        await giveWay()
        const line = region.subarray(start, end)
        const header = checkRecord(line)
        if (header === undefined || !isEffective(header, segment)) continue
        const found = await findIn(line, header, query, wanted, blobs)
        if (found === undefined) continue
        lastWhole ??= lastWholeRecord(logs.journal, attested)
        if (found.seq <= lastWhole) yield found
      }
    }
    before = segment.firstSeq
  }
}

/** The last record whose append is complete: a writer may have died in the middle of the next one. */
function lastWholeRecord(files: LogFiles, attested: number): number {
  for (const { seq } of readBackwards(files, { attested })) return seq
  return 0
}

/** Does the record count? Where two segments overlap, those of the later one do. */
const isEffective = ({ seq }: CheckedHeader, { firstSeq, until }: Segment): boolean =>
  seq >= firstSeq && seq < until

/** Parses a line if a needle is in its type or data, and not only in the fields around them. */
async function findIn(
  line: Buffer,
  { seq, at, typeAt, dataAt }: CheckedHeader,
  query: SearchQuery,
  needles: readonly Needle[] | undefined,
  blobs: BlobSearch,
): Promise<FoundRecord | undefined> {
  if (at < query.since) return undefined
  const hasBlob = line.indexOf(blobField, dataAt, 'latin1') === dataAt
  const isIn = (part: Buffer): boolean => needles?.some((needle) => needle.indexIn(part, 0) >= 0) ?? true
  if (
    !hasBlob &&
    !isIn(line.subarray(typeAt, dataAt)) &&
    !isIn(line.subarray(dataAt + dataField.length, -checksumBytes))
  )
    return undefined
  const record = parseLogRecord(line)
  if (!query.wants(record)) return undefined
  const match = query.inRecord(record) ?? (record.blob && (await blobs.find(record.blob)))
  return match && { seq, at, type: record.type, ...match }
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
