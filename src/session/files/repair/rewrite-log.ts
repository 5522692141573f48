import { join } from 'node:path'
import { encodeBody, encodeLine } from '../../log/codec.ts'
import { laterSegment, type LogFiles } from '../../log/log-files.ts'
import { checkRecord, type RecordHeader } from '../../log/record.ts'
import { replaceFileBy } from '../../../base/fs/atomic-file.ts'
import { PieceReader } from './piece-reader.ts'
import type { Salvage } from './salvage.ts'

/** In place of a record that is lost, so that all others keep their numbers. */
export const lostType = 'stint.lost'

export interface Rewrite {
  salvage: Salvage
  /** What the line before the first that is written anew has left for it: the hash, in an audit log. */
  tail: string
  /** What comes after the last line. */
  more: readonly string[]
  epoch: number
  now: number
}

const bufferBytes = 1 << 20

/**
 * Writes a damaged log anew from the damaged segment on: one new segment, of a higher epoch, which by its name takes the place of all others from there on. It is published by one rename:
 * a crash leaves the log as it was, or repaired. Intact lines of a journal are kept to the byte. Those of an audit log get the hash of the line that is now before them, and
 * name, as `salvaged`, the hash they had.
 */
export function rewriteLog(place: LogFiles, { salvage, tail: before, more, epoch, now }: Rewrite): void {
  const { disk, directory, log, codec } = place
  using reader = new PieceReader(place)
  let [tail, next, at] = [before, salvage.from, 0]
  replaceFileBy(
    join(directory, laterSegment(log, salvage.from, epoch)),
    (put) => {
      const out = new Buffered(put)
      const make = (header: RecordHeader, body: string): void => {
        const made = encodeLine(codec, header, body, tail)
        tail = made.tail
        out.add(Buffer.from(`${made.line}\n`))
      }
      const fillUpTo = (seq: number): void => {
        for (; next < seq; next++) make({ seq: next, at: at || now, group: next, epoch }, lostBody(log))
      }
      for (const piece of salvage.pieces) {
        fillUpTo(piece.seq)
        const line = reader.read(piece)
        if (codec.follows === undefined || piece.seq < salvage.bad) out.add(Buffer.concat([line, newline]))
        else make(headerOf(line), rechained(line))
        at = piece.at
        next = piece.seq + 1
      }
      fillUpTo(salvage.last + 1)
      const group = next
      for (const body of more) make({ seq: next++, at: now, group, epoch }, body)
      out.flush()
    },
    disk,
  )
}

const newline = Buffer.from('\n')

const lostBody = (log: LogFiles['log']): string =>
  log === 'journal' ? encodeBody(lostType, '{}') : encodeBody('note', JSON.stringify({ action: lostType }))

function headerOf(line: Buffer): RecordHeader {
  const header = checkRecord(line)
  if (header === undefined) throw new Error('unreachable: only intact lines are kept')
  return header
}

const frame =
  /^\{"seq":\d+,"at":\d+,"group":\d+,"epoch":\d+,(.*),"prev":"[0-9a-f]{64}","hash":"([0-9a-f]{64})","crc":"[0-9a-f]{8}"\}$/s

/** What a line of an audit log says, with the hash it had; that of an earlier repair stays. */
function rechained(line: Buffer): string {
  const [, body = '', hash = ''] = frame.exec(line.toString()) ?? []
  return /,"salvaged":"[0-9a-f]{64}"$/.test(body) ? body : `${body},"salvaged":"${hash}"`
}

/** Many lines in one write. */
class Buffered {
  readonly #put: (bytes: Uint8Array) => void
  #lines: Buffer[] = []
  #bytes = 0

  constructor(put: (bytes: Uint8Array) => void) {
    this.#put = put
  }

  add(line: Buffer): void {
    this.#lines.push(line)
    this.#bytes += line.length
    if (this.#bytes >= bufferBytes) this.flush()
  }

  flush(): void {
    this.#put(Buffer.concat(this.#lines))
    this.#lines = []
    this.#bytes = 0
  }
}
