import { expect, test } from 'vitest'
import type { ReadableMedium } from '../medium.ts'
import { emptyState, type FoldedState } from '../state.ts'
import { type LogEnds, withChecksum } from './codec.ts'
import { encodeSnapshot, headName, parseHead, readSnapshot, type SavedSlots } from './snapshot.ts'

const ends: LogEnds = { journal: { seq: 7, sum: '0a1b2c3d' }, audit: { seq: 2, sum: 'f'.repeat(64) } }
const later: LogEnds = { ...ends, journal: { seq: 9, sum: '99999999' } }

/** A state with these slots, one that is broken, and an act without an outcome. */
function stateOf(slots: Record<string, unknown>): FoldedState {
  const state = emptyState()
  state.turns = 3
  state.unsettled.set('act_1', { act: 'act_1', seq: 1, at: 5, action: 'shell' })
  for (const [ext, value] of Object.entries(slots)) state.slots.set(ext, { version: '1', value })
  state.slots.set('broken', { version: '2', value: undefined, broken: 'blob 00 is missing' })
  return state
}

const encode = (state: FoldedState, saved: SavedSlots = new Map(), at = ends): Map<string, string> =>
  encodeSnapshot({ ends: at, state, saved }, 1000, ({ value }) => JSON.stringify(value))

/** Reads a snapshot of these texts. */
const read = (texts: ReadonlyMap<string, string>) =>
  readSnapshot({
    state: async (names: readonly string[]) => new Map([...texts].filter(([name]) => names.includes(name))),
  } as Partial<ReadableMedium> as ReadableMedium)

test('a snapshot is read back as it was written, whatever its slots are called', async () => {
  const slots = JSON.parse('{"todo": [1, 2], "__proto__": {"mode": "plan"}, "constructor": null}') as object
  const state = stateOf({ ...slots })
  expect([...state.slots.keys()]).toContain('__proto__')
  const snapshot = await read(encode(state))
  expect(snapshot).toMatchObject({ ends, lacking: new Set() })
  expect(snapshot?.state).toEqual(state)
})

test('only slots that have changed are saved again, each with the record up to which it is true', async () => {
  const state = stateOf({ todo: 1, other: 2 })
  const saved: SavedSlots = new Map()
  const texts = encode(state, saved)
  expect([...texts.keys()].sort()).toEqual([headName, 'broken', 'other', 'todo'])
  state.slots.set('todo', { version: '1', value: 3 })
  const changed = encode(state, saved, later)
  expect([...changed.keys()].sort()).toEqual([headName, 'todo'])
  expect(JSON.parse(changed.get('todo') ?? '')).toMatchObject({
    slot: 'todo',
    seq: 9,
    tail: '99999999',
    value: 3,
  })
  const snapshot = await read(new Map([...texts, ...changed]))
  expect(snapshot?.state).toEqual(state)
  // The next one begins with what was read.
  expect([...encode(snapshot?.state ?? state, snapshot?.saved, later).keys()]).toEqual([headName])
})

test('a head with a changed byte, an unknown schema or an invalid end is not read', () => {
  const head = encode(stateOf({ todo: 1 })).get(headName) ?? ''
  expect(parseHead(head)).toBeDefined()
  for (let at = 0; at < head.length - 1; at++) {
    const changed = head.slice(0, at) + (head[at] === 'x' ? 'y' : 'x') + head.slice(at + 1)
    expect(parseHead(changed), `byte ${at}`).toBeUndefined()
  }
  const body = head.slice(0, -19)
  const parse = (text: string) => parseHead(`${withChecksum(text)}\n`)
  expect(parse(body)).toBeDefined()
  expect(parse(body.replace('"schema":1', '"schema":2'))).toBeUndefined()
  expect(parse(body.replace('"seq":7,"tail"', '"seq":-7,"tail"'))).toBeUndefined()
})

test.each([
  ['missing', () => undefined],
  ['changed', (text: string) => text.replace('"value":1', '"value":2')],
  ['of an earlier snapshot', () => encode(stateOf({ todo: 1 }), new Map(), later).get('todo')],
  ['of another slot', (_: string, texts: ReadonlyMap<string, string>) => texts.get('other')],
])('a slot whose text is %s is lacking, and the others are read', async (_, change) => {
  const texts = encode(stateOf({ todo: 1, other: 2 }))
  const text = change(texts.get('todo') ?? '', texts)
  if (text === undefined) texts.delete('todo')
  else texts.set('todo', text)
  const snapshot = await read(texts)
  expect(snapshot?.lacking).toEqual(new Set(['todo']))
  expect(snapshot?.state.slots.get('other')).toEqual({ version: '1', value: 2 })
})
