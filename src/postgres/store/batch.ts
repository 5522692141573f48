import { type LogEntry, turnType } from '../../session/index.ts'
import {
  codecs,
  encodeCheckpoint,
  encodeEntry,
  encodeLine,
  type LogEnds,
  type LogName,
} from '../../session/log/index.ts'
import { type Content, contentOf } from './blob-row.ts'

/** A record on its way: all of it that does not depend on when it is written. */
export interface Body {
  log: LogName
  text: string
  /** Its data, if that is too large for a line. */
  blob?: Content
  isTurn: boolean
  /** The entry of the spool that it came from. */
  mark?: string
  at: number
}

export function bodyOf(log: LogName, entry: LogEntry, at: number): Body {
  let blob: Content | undefined
  const text = encodeEntry(entry, (json) => (blob = contentOf(json)))
  return { log, text, blob, isTurn: log === 'journal' && entry.type === turnType, mark: entry.spool, at }
}

/** The rows of one log. */
export interface Rows {
  lines: string[]
  /** The blob that each names. */
  blobs: (string | null)[]
}

/** What one statement writes: all of it, or nothing. */
export interface Batch {
  from: LogEnds
  end: LogEnds
  journal: Rows
  audit: Rows
  contents: Content[]
  marks: string[]
  turns: number
  bytes: number
  lastAt: number | undefined
  /** What the journal attests of the audit log. */
  stamp: string
  /** For each body: where it got to. */
  places: { seq: number; tail: string }[]
}

/** Numbers the bodies, chains them, and lets the journal say how far the audit log has come. */
export function encodeBatch(bodies: readonly Body[], from: LogEnds, epoch: number, stamped: string): Batch {
  const batch: Batch = {
    from,
    end: { ...from },
    journal: { lines: [], blobs: [] },
    audit: { lines: [], blobs: [] },
    contents: [],
    marks: bodies.flatMap(({ mark }) => (mark === undefined ? [] : [mark])),
    turns: bodies.filter(({ isTurn }) => isTurn).length,
    bytes: 0,
    lastAt: bodies.findLast(({ log }) => log === 'journal')?.at,
    stamp: stamped,
    places: [],
  }
  const contents = new Map(bodies.flatMap(({ blob }) => (blob === undefined ? [] : [[blob.sha256, blob]])))
  batch.contents = [...contents.values()]
  for (const { bytes } of batch.contents) batch.bytes += bytes
  // First, so that the journal can attest what is committed together with it.
  encodeLog('audit', bodies, batch, epoch)
  batch.stamp = encodeCheckpoint(batch.end.audit)
  encodeLog('journal', bodies, batch, epoch, batch.stamp === stamped ? '' : batch.stamp)
  // Nothing was attested: the next one does it.
  if (batch.journal.lines.length === 0) batch.stamp = stamped
  return batch
}

function encodeLog(log: LogName, bodies: readonly Body[], batch: Batch, epoch: number, stamp = ''): void {
  let { seq, tail } = batch.from[log]
  const group = seq + 1
  const { lines, blobs } = batch[log]
  bodies.forEach((body, i) => {
    if (body.log !== log) return
    seq += 1
    const text = seq === group ? body.text + stamp : body.text
    const made = encodeLine(codecs[log], { seq, at: body.at, group, epoch }, text, tail)
    tail = made.tail
    lines.push(made.line)
    blobs.push(body.blob?.sha256 ?? null)
    batch.bytes += Buffer.byteLength(made.line)
    batch.places[i] = { seq, tail }
  })
  batch.end = { ...batch.end, [log]: { seq, tail } }
}
