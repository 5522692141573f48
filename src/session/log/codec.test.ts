import fc from 'fast-check'
import { expect, test } from 'vitest'
import { anyCharacter } from '../../../test/support/any-character.ts'
import { decodeRecord } from '../../../test/support/decode-record.ts'
import { encodeBody, journalCodec } from './codec.ts'
import { checkRecord, type LogRecord } from './record.ts'

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
  journalCodec.encode(each, encodeBody({ type: each.type, json: JSON.stringify(each.data) }), '').line

const lineOf = (each: LogRecord): Buffer => Buffer.from(encodeRecord(each))

test('a record is one line of JSON, and is read back as it was written', () => {
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

test('a record with any changed, missing or added byte is not accepted', () => {
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

test('random bytes are not accepted as a record', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 300 }), (bytes) => {
      expect(checkRecord(Buffer.from(bytes))).toBeUndefined()
    }),
  )
})
