import { giveWay } from '../../base/process/event-loop.ts'
import type { ReadableMedium } from '../medium.ts'
import { readBlob } from './blobs.ts'
import { type Line, linesBackwards, linesForwards } from './lines.ts'
import type { LogName } from './log-end.ts'
import { checkRecord, isContinued, type LogRecord, parseLogRecord } from './record.ts'

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
      const seq = intactSeq(line)
      // The first region may begin before the record.
      if (!isFound && seq !== wanted && (seq === undefined || seq < wanted)) continue
      isFound = true
      if (seq !== wanted || (seq > to && unfinished.length === 0)) return
      wanted += 1
      if (seq <= to) unfinished.push(parseLogRecord(line.bytes))
      if (seq > attested && isContinued(line)) continue
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
      const seq = intactSeq(line)
      if (next === undefined && (seq === undefined || seq > to)) continue
      if (seq === undefined || seq !== (next ?? seq)) return
      if (next === undefined && seq > attested && isContinued(line)) continue
      yield await withData(medium, parseLogRecord(line.bytes))
      next = seq - 1
      if (next % recordsPerLook === 0) await giveWay()
    }
  }
}

/** The last record of the journal without its data in a blob; undefined if there is none. */
export async function lastRecord(
  medium: ReadableMedium,
  attested: number,
): Promise<Pick<LogRecord, 'seq' | 'at'> | undefined> {
  for await (const region of medium.regions('journal', { from: Number.MAX_SAFE_INTEGER, backwards: true }))
    for (const line of linesBackwards(region)) {
      const header = line.ended ? checkRecord(line.chunk, line.start, line.end) : undefined
      if (header !== undefined && (header.seq <= attested || !isContinued(line))) return header
    }
  return undefined
}

const intactSeq = (line: Line): number | undefined =>
  line.ended ? checkRecord(line.chunk, line.start, line.end)?.seq : undefined

/** A record with its data, read from its blob if it has one. */
async function withData(medium: ReadableMedium, record: LogRecord): Promise<LogRecord> {
  if (record.blob === undefined) return record
  return { ...record, data: JSON.parse(await readBlob(medium, record.blob)) as unknown }
}
