import fc from 'fast-check'
import { expect, test } from 'vitest'
import { anyCharacter } from '../../../test/support/any-character.ts'
import { decodeRecord } from '../../../test/support/decode-record.ts'
import { encodeBody, encodeLine, journalCodec } from './codec.ts'
import { LineBuffer } from './line-checksum.ts'
import { type Line, linesBackwards, linesFrom, type ReadAt } from './lines.ts'
import { checkRecord, type LogRecord } from './record.ts'
import { TailClassifier, type LogState } from './scan.ts'

const record = (seq: number, more: Partial<LogRecord> = {}): LogRecord => ({
  seq,
  at: 1_700_000_000_000,
  group: seq,
  epoch: 1,
  type: 'message',
  data: { n: seq },
  ...more,
})

const encodeRecord = (each: LogRecord): string =>
  encodeLine(journalCodec, each, encodeBody(each.type, JSON.stringify(each.data)), '').line

const lineOf = (each: LogRecord): Buffer => Buffer.from(encodeRecord(each))

test('a record is one line of JSON, and comes back as it was, whatever is in it', () => {
  fc.assert(
    fc.property(fc.string({ unit: anyCharacter }), fc.jsonValue(), fc.nat(), (type, value, seq) => {
      const text = encodeRecord(record(seq, { type, data: value }))
      expect(text).not.toContain('\n')
      expect(text).not.toMatch(/[\u2028\u2029]/)
      const data = JSON.parse(JSON.stringify(value)) as unknown
      expect(JSON.parse(text)).toMatchObject({ seq, type: JSON.parse(JSON.stringify(type)) as string })
      expect(decodeRecord(Buffer.from(text))).toMatchObject(record(seq, { type, data }))
    }),
  )
})

test('lines made in memory that is used again are the same lines, however long', () => {
  const lines = new LineBuffer()
  fc.assert(
    fc.property(fc.array(fc.string({ unit: anyCharacter, size: 'large' })), (texts) => {
      lines.clear()
      const bodies = texts.map((text) => encodeBody('message', JSON.stringify(text)))
      const header = record(1)
      for (const body of bodies) lines.add(journalCodec.text(header, body, ''))
      const expected = bodies.map((body) => `${encodeLine(journalCodec, header, body, '').line}\n`)
      expect(lines.bytes.toString()).toBe(expected.join(''))
      if (expected.length > 0) expect(`${lines.last.toString()}\n`).toBe(expected.at(-1))
    }),
  )
})

test('any changed, lost or added byte is noticed', () => {
  const line = lineOf(record(7, { group: 5, type: 'tool', data: { text: 'ü 🙂', n: [1, 2.5] } }))
  expect(checkRecord(line)).toMatchObject({ seq: 7, at: 1_700_000_000_000, group: 5, epoch: 1 })
  for (let at = 0; at < line.length; at++) {
    for (let bit = 0; bit < 8; bit++) {
      const changed = Buffer.from(line)
      changed[at] = (changed[at] ?? 0) ^ (1 << bit)
      expect(checkRecord(changed), `bit ${bit} of byte ${at}`).toBeUndefined()
    }
    expect(checkRecord(line.subarray(0, at)), `cut at ${at}`).toBeUndefined()
    expect(checkRecord(Buffer.concat([line.subarray(0, at), line.subarray(at + 1)]))).toBeUndefined()
    const longer = Buffer.concat([line.subarray(0, at), Buffer.from(' '), line.subarray(at)])
    expect(checkRecord(longer)).toBeUndefined()
  }
})

test('no bytes break the reader', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 300 }), (bytes) => {
      expect(checkRecord(Buffer.from(bytes))).toBeUndefined()
    }),
  )
})

/** As a file would give it: a few bytes at a time. */
const reading =
  (bytes: Buffer, atMost = Number.POSITIVE_INFINITY): ReadAt =>
  (into, position) =>
    bytes.copy(into, 0, position, Math.min(bytes.length, position + atMost))

const shown = ({ bytes, offset, ended }: Line): string => `${offset} ${bytes.toString('latin1')} ${ended}`

test('lines come one by one, forwards and backwards, in whatever pieces the file is read', () => {
  const piece = fc.oneof(fc.constant('\n'), fc.string({ maxLength: 6 }), fc.constant('x'.repeat(40)))
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 30 }), fc.integer({ min: 1, max: 9 }), (pieces, atMost) => {
      const bytes = Buffer.from(pieces.join(''))
      const expected: string[] = []
      for (let start = 0; start < bytes.length;) {
        const at = bytes.indexOf(0x0a, start)
        const end = at < 0 ? bytes.length : at
        if (end > start) expected.push(`${start} ${bytes.toString('latin1', start, end)} ${at >= 0}`)
        start = end + 1
      }
      expect(Array.from(linesFrom(reading(bytes, atMost)), shown)).toEqual(expected)
      expect(Array.from(linesBackwards(reading(bytes, atMost), bytes.length), shown)).toEqual(
        expected.toReversed(),
      )
    }),
  )
})

test('a line longer than a piece is read whole, and the filling at the end of a file is nothing', () => {
  const long = 'x'.repeat(3 << 20)
  const bytes = Buffer.from(`one\n${long}\ntwo\n${'\n'.repeat(5 << 20)}`)
  expect(Array.from(linesFrom(reading(bytes)), ({ bytes }) => bytes.length)).toEqual([3, 3 << 20, 3])
  expect(Array.from(linesBackwards(reading(bytes), bytes.length), ({ bytes }) => bytes.length)).toEqual([
    3,
    3 << 20,
    3,
  ])
  expect(Array.from(linesFrom(reading(bytes), 4 + long.length + 1), shown)).toEqual([
    `${5 + long.length} two true`,
  ])
})

/** A journal of groups; `0` stands for a line that is not intact. */
function judge(
  lines: readonly (LogRecord | 0)[],
  attestedSeq?: number,
): { state: LogState; lastSeq: number } {
  const judging = new TailClassifier()
  for (const line of lines) judging.take(line === 0 ? undefined : line)
  return { state: judging.classify(attestedSeq), lastSeq: judging.lastSeq }
}

/** Records 1.. in groups of these sizes. */
function inGroups(...sizes: number[]): LogRecord[] {
  const records: LogRecord[] = []
  for (const size of sizes) {
    const group = records.length + 1
    for (let i = 0; i < size; i++) records.push(record(records.length + 1, { group }))
  }
  return records
}

test('whole: every record in its place', () => {
  expect(judge([])).toEqual({ state: 'whole', lastSeq: 0 })
  expect(judge(inGroups(1, 3, 2))).toEqual({ state: 'whole', lastSeq: 6 })
})

test('a bad or missing record of the last group is a tear: nothing of that group may have been acknowledged', () => {
  const lines = inGroups(2, 3)
  for (const bad of [2, 3, 4]) {
    expect(judge(lines.with(bad, 0 as never))).toEqual({ state: 'torn', lastSeq: bad })
    // At the very end, a record that is missing cannot be told from one that was never written.
    const state = bad === 4 ? 'whole' : 'torn'
    expect(judge(lines.toSpliced(bad, 1))).toEqual({ state, lastSeq: bad })
  }
})

test('a bad or missing record below the last group is damage: that group was written when it was safe', () => {
  const lines = inGroups(2, 3, 1)
  for (const bad of [0, 1, 2, 3, 4]) {
    const damage = { state: 'damaged', lastSeq: bad }
    expect(judge(lines.with(bad, 0 as never))).toEqual(damage)
    expect(judge(lines.toSpliced(bad, 1))).toEqual(damage)
  }
})

test('what is attested elsewhere is damage when it is missing, even at the end', () => {
  expect(judge(inGroups(2, 3), 5).state).toBe('whole')
  expect(judge(inGroups(2, 3), 6)).toMatchObject({ state: 'damaged', lastSeq: 5 })
  expect(judge(inGroups(2, 3).with(4, 0 as never), 5)).toMatchObject({ state: 'damaged', lastSeq: 4 })
})

test('records out of order, repeated or of a group that lies ahead do not count', () => {
  expect(judge([record(1), record(3), record(2)])).toMatchObject({ state: 'damaged', lastSeq: 1 })
  expect(judge([record(1), record(1)])).toMatchObject({ state: 'torn', lastSeq: 1 })
  expect(judge([record(1, { group: 9 })])).toMatchObject({ lastSeq: 0 })
})

test('whatever is lost of the last group, what comes before it is never lost with it', () => {
  const sizes = fc.array(fc.integer({ min: 1, max: 4 }), { minLength: 1, maxLength: 5 })
  fc.assert(
    fc.property(sizes, fc.infiniteStream(fc.boolean()), (sizes, survives) => {
      const lines = inGroups(...sizes)
      const acknowledged = lines.length - (sizes.at(-1) ?? 0)
      const left = lines.map((line) => (line.seq <= acknowledged || survives.next().value ? line : 0))
      const verdict = judge(left)
      expect(verdict.state).not.toBe('damaged')
      expect(verdict.lastSeq).toBeGreaterThanOrEqual(acknowledged)
    }),
  )
})
