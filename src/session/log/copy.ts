import { giveWay } from '../../base/process/event-loop.ts'
import type { LogGroup, ReadableMedium, SessionContents } from '../medium.ts'
import { logUnreadable } from '../session-errors.ts'
import { turnType } from '../state.ts'
import { readBlob } from './blobs.ts'
import { codecs, emptyLogEnd } from './codec.ts'
import { type Line, linesForwards } from './lines.ts'
import type { LogEnd, LogName } from './log-end.ts'
import { type BlobName, checkpointOn, checkRecord, hasBlob, hasTypePrefix, parseLogRecord } from './record.ts'

/** The part of a log that is copied. */
export interface LogPart {
  end: LogEnd
  turns: number
  /** How far the audit log had come, by the last checkpoint in this part of the journal. */
  audited: number
  blobs: Map<string, BlobName>
}

/** Reads a log up to a record. `JOURNAL_CORRUPT` or `AUDIT_CORRUPT` if a record is missing or changed. */
export async function readPart(medium: ReadableMedium, log: LogName, to: number): Promise<LogPart> {
  const part: LogPart = { end: emptyLogEnd(log), turns: 0, audited: 0, blobs: new Map() }
  for await (const { end, turns } of groupsOf(medium, log, to, (line) => notePart(line, part))) {
    part.end = end
    part.turns += turns
  }
  return part
}

function notePart(line: Line, part: LogPart): void {
  part.audited = checkpointOn(line)?.count ?? part.audited
  const header = checkRecord(line.chunk, line.start, line.end)
  const blob = header && hasBlob(line, header) ? parseLogRecord(line.bytes).blob : undefined
  if (blob !== undefined) part.blobs.set(blob.sha256, blob)
}

/** The contents of a session up to the ends of these parts. */
export const contentsOf = (medium: ReadableMedium, parts: Record<LogName, LogPart>): SessionContents => ({
  groups: (log) => groupsOf(medium, log, parts[log].end.seq),
  async *blobs() {
    for (const name of new Map([...parts.journal.blobs, ...parts.audit.blobs]).values())
      yield { sha256: name.sha256, content: Buffer.from(await readBlob(medium, name)) }
  },
})

const turnField = Buffer.from(`${turnType}"`)

/** Reads the lines of a log up to a record, checked, in groups as large as the regions of the medium. */
async function* groupsOf(
  medium: ReadableMedium,
  log: LogName,
  to: number,
  onLine: (line: Line) => void = () => {},
): AsyncGenerator<LogGroup> {
  const { follows, sumOf } = codecs[log]
  let end = emptyLogEnd(log)
  for await (const region of medium.regions(log, { from: 1, backwards: false })) {
    const group = { lines: [] as Buffer[], lastAt: 0, turns: 0 }
    for (const line of linesForwards(region)) {
      if (end.seq === to) break
      const header = line.ended ? checkRecord(line.chunk, line.start, line.end) : undefined
      const isNext = header?.seq === end.seq + 1 && (follows === undefined || follows(line.bytes, end.sum))
      if (header === undefined || !isNext) throw unreadable(medium, log, to)
      end = { seq: header.seq, sum: sumOf(line.bytes) }
      group.lines.push(region.bytes.subarray(line.start, line.end + 1))
      group.lastAt = header.at
      if (log === 'journal' && hasTypePrefix(line, header, turnField)) group.turns += 1
      onLine(line)
    }
    const { lines, ...facts } = group
    if (lines.length > 0) yield { ...facts, lines: Buffer.concat(lines), end }
    if (end.seq === to) return
    await giveWay()
  }
  if (end.seq < to) throw unreadable(medium, log, to)
}

const unreadable = ({ manifest }: ReadableMedium, log: LogName, to: number): Error =>
  logUnreadable(manifest.session_id, log, to)
