import { expect, test } from 'vitest'
import { emptyState } from '../state.ts'
import { nameBlob } from './blobs.ts'
import { withChecksum } from './line-checksum.ts'
import { type LogEnds, parseLogEnd } from './log-end.ts'
import type { BlobName } from './record.ts'
import { encodeSnapshot, parseSnapshot, restoreSnapshot } from './snapshot-codec.ts'

const ends: LogEnds = { journal: { seq: 7, sum: '0a1b2c3d' }, audit: { seq: 2, sum: 'f'.repeat(64) } }

/** A snapshot of a state with these slots, and the values that it stores apart. */
function snapshotOf(slots: Record<string, unknown>) {
  const state = emptyState()
  state.turns = 3
  state.unsettled.set('act_1', { act: 'act_1', seq: 1, at: 5, action: 'shell' })
  for (const [ext, value] of Object.entries(slots)) state.slots.set(ext, { version: '1', value })
  state.slots.set('broken', { version: '2', value: undefined, broken: 'blob 00 is missing' })
  const values = new Map<string, string>()
  const text = encodeSnapshot({ ends, state }, 1000, (ext) => {
    const json = JSON.stringify(state.slots.get(ext)?.value)
    const name = nameBlob(Buffer.from(json))
    values.set(name.sha256, json)
    return name
  })
  return { state, text, values }
}

const parse = (text: string) => parseSnapshot(Buffer.from(text), parseLogEnd)

function restore(text: string, readValue: (name: BlobName) => string | undefined) {
  const stored = parse(text)
  return stored && restoreSnapshot(stored, readValue)
}

test('a snapshot is read back as it was written, whatever its slots are called', () => {
  const slots = JSON.parse('{"todo": [1, 2], "__proto__": {"mode": "plan"}, "constructor": null}') as object
  const { state, text, values } = snapshotOf({ ...slots })
  expect([...state.slots.keys()]).toContain('__proto__')
  const snapshot = restore(text, ({ sha256 }) => values.get(sha256))
  expect(snapshot).toEqual({ seq: 7, ends, state })
})

test('a snapshot with a changed byte, an unknown schema or an invalid end is not read', () => {
  const { text } = snapshotOf({ todo: 1 })
  for (let at = 0; at < text.length; at++) {
    const changed = text.slice(0, at) + (text[at] === 'x' ? 'y' : 'x') + text.slice(at + 1)
    expect(parse(changed), `byte ${at}`).toBeUndefined()
  }
  const body = text.slice(0, -18)
  expect(parse(withChecksum(body))).toBeDefined()
  expect(parse(withChecksum(body.replace('"schema":1', '"schema":2')))).toBeUndefined()
  expect(parse(withChecksum(body.replace('"seq":7,"tail"', '"seq":-7,"tail"')))).toBeUndefined()
})

test('a snapshot whose slot value is missing or unreadable is not restored', () => {
  const { text, values } = snapshotOf({ todo: 1 })
  expect(restore(text, ({ sha256 }) => values.get(sha256))).toBeDefined()
  expect(restore(text, () => undefined)).toBeUndefined()
  expect(restore(text, () => '{')).toBeUndefined()
})
