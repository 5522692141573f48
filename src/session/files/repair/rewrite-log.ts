import { join } from 'node:path'
import { encodeBody, encodeLine } from '../../log/codec.ts'
import { laterSegment, type LogFiles } from '../../log/log-files.ts'
import { checkRecord, type RecordHeader } from '../../log/record.ts'
import { type Fill, replaceFileBy } from '../../../base/fs/atomic-file.ts'
import type { DiskSteps } from '../../../base/fs/disk-steps.ts'
import { IntactLineReader, type Salvage } from './salvage.ts'

/** The type of the record in the place of a lost one: the others keep their numbers. */
const lostType = 'stint.lost'

export interface Rewrite {
  salvage: Salvage
  /** The sum of the last line before the rewritten ones. */
  sum: string
  /** The bodies of further records, to be added at the end. */
  more: readonly string[]
  epoch: number
  now: number
}

/**
 * Rewrites a damaged log from the damaged segment on, into one new segment of a higher epoch. By its name it
 * overrules all others from there on, and one rename publishes it: a crash leaves the log damaged, or
 * repaired. Intact lines of a journal are kept byte for byte. Those of an audit log are chained to the lines
 * that are now before them, and carry the hash they had as `salvaged`.
 */
export function* rewriteLog(files: LogFiles, { salvage, sum: before, more, epoch, now }: Rewrite): DiskSteps {
  const { disk, directory, log, codec } = files
  using reader = new IntactLineReader(files)
  let [sum, next, at] = [before, salvage.from, 0]
  yield* replaceFileBy(
    join(directory, laterSegment(log, salvage.from, epoch)),
    function* (put) {
      const out = gatherFor(put)
      const make = (header: RecordHeader, body: string): void => {
        const made = encodeLine(codec, header, body, sum)
        sum = made.sum
        out.add(Buffer.from(`${made.line}\n`))
      }
      function* fillUpTo(seq: number): DiskSteps {
        for (; next < seq; next++) {
          make({ seq: next, at: at || now, group: next, epoch }, lostBody(log))
          yield* out.flushIfLarge()
        }
      }
      for (const intact of salvage.lines) {
        yield* fillUpTo(intact.seq)
        const line = reader.read(intact)
        if (codec.follows === undefined || intact.seq < salvage.bad) out.add(Buffer.concat([line, newline]))
        else make(checkRecord(line) as RecordHeader, rechained(line))
        at = intact.at
        next = intact.seq + 1
        yield* out.flushIfLarge()
      }
      yield* fillUpTo(salvage.last + 1)
      const group = next
      for (const body of more) make({ seq: next++, at: now, group, epoch }, body)
      yield* out.flush()
    },
    disk,
  )
}

const newline = Buffer.from('\n')

const lostBody = (log: LogFiles['log']): string =>
  log === 'journal' ? encodeBody(lostType, '{}') : encodeBody('note', JSON.stringify({ action: lostType }))

const frame =
  /^\{"seq":\d+,"at":\d+,"group":\d+,"epoch":\d+,(.*),"prev":"[0-9a-f]{64}","hash":"([0-9a-f]{64})","crc":"[0-9a-f]{8}"\}$/s

/** The body of an audit line with the hash it had. The hash that an earlier repair has added stays. */
function rechained(line: Buffer): string {
  const [, body = '', hash = ''] = frame.exec(line.toString()) ?? []
  return /,"salvaged":"[0-9a-f]{64}"$/.test(body) ? body : `${body},"salvaged":"${hash}"`
}

/** A write takes lines of this size together: making them takes a fraction of a millisecond. */
const gatheredBytes = 32 << 10

/** Gathers lines for larger writes. */
function gatherFor(put: Parameters<Fill>[0]) {
  let lines: Buffer[] = []
  let bytes = 0
  function* flush(): DiskSteps {
    const gathered = Buffer.concat(lines)
    lines = []
    bytes = 0
    yield* put(gathered)
  }
  return {
    add(line: Buffer): void {
      lines.push(line)
      bytes += line.length
    },
    flush,
    *flushIfLarge(): DiskSteps {
      if (bytes >= gatheredBytes) yield* flush()
    },
  }
}
