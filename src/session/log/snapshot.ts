import type { UnsettledAct } from '../store.ts'
import { isCount, isRecord, isString, parseObject } from '../../base/text/fields.ts'
import { emptyState, type FoldedState, type StoredSlot } from '../state.ts'
import type { ReadableMedium } from '../medium.ts'
import {
  checksumBytes,
  isSameEnd,
  type LogEnd,
  type LogEnds,
  parseLogEnd,
  storedEnds,
  withChecksum,
} from './codec.ts'

/**
 * A snapshot is a cache of the state that the logs of a session add up to. It is a few texts: one for each
 * slot, with the record up to which its value is true, and the head, which has the rest and says which text
 * of each slot belongs to it. Each text ends with a checksum. A crash may lose any of them, or bring an
 * earlier one back: then the logs are replayed.
 */
export interface Snapshot {
  ends: LogEnds
  state: FoldedState
  saved: SavedSlots
  /** Slots of the snapshot whose texts are missing: only records after it can tell their values. */
  lacking: Set<string>
}

/** What is known to be saved of each slot, and the record up to which that text says it is true. */
export type SavedSlots = Map<string, { slot: StoredSlot; end: LogEnd }>

/** The name of the head among the texts of a state; no slot has it. */
export const headName = ''

/** The head of a snapshot. */
interface SnapshotHead {
  ends: LogEnds
  turns: number
  unsettled: UnsettledAct[]
  slots: Record<string, LogEnd>
}

/** The texts to save for a snapshot: the head, and slots that are not in `saved`, which it updates. */
export function encodeSnapshot(
  { ends, state, saved }: Omit<Snapshot, 'lacking'>,
  at: number,
  jsonOf: (slot: StoredSlot) => string,
): Map<string, string> {
  const texts = new Map<string, string>()
  for (const [ext, slot] of state.slots) {
    if (saved.get(ext)?.slot === slot) continue
    saved.set(ext, { slot, end: ends.journal })
    texts.set(ext, encodeSlot(ext, slot, ends.journal, jsonOf))
  }
  const fields = {
    schema: 1,
    seq: ends.journal.seq,
    at,
    turns: state.turns,
    ...storedEnds(ends),
    unsettled: [...state.unsettled.values()],
    slots: Object.fromEntries([...saved].map(([ext, { end }]) => [ext, { seq: end.seq, tail: end.sum }])),
  }
  return texts.set(headName, encode(fields))
}

function encodeSlot(
  ext: string,
  slot: StoredSlot,
  { seq, sum }: LogEnd,
  jsonOf: (slot: StoredSlot) => string,
): string {
  const { version, broken } = slot
  const opening = JSON.stringify({ slot: ext, version, seq, tail: sum }).slice(0, -1)
  const value = broken === undefined ? `"value":${jsonOf(slot)}` : `"broken":${JSON.stringify(broken)}`
  return `${withChecksum(`${opening},${value}`)}\n`
}

const encode = (fields: object): string => `${withChecksum(JSON.stringify(fields).slice(0, -1))}\n`

/** Reads a text of a state; undefined if it is missing or damaged. */
function decode(text = ''): Record<string, unknown> | undefined {
  const fields = text.slice(0, -checksumBytes - 1)
  return text === `${withChecksum(fields)}\n` ? parseObject(`${fields}}`) : undefined
}

/** Reads the head of a snapshot; undefined if it is missing or damaged. */
export function parseHead(text: string | undefined): SnapshotHead | undefined {
  const { schema, turns, unsettled, slots, ...fields } = decode(text) ?? {}
  const [journal, audit] = [parseLogEnd(fields.journal), parseLogEnd(fields.audit)]
  if (schema !== 1 || journal === undefined || audit === undefined || !isCount(turns)) return undefined
  if (!Array.isArray(unsettled) || !unsettled.every(isAct) || !isRecord(slots)) return undefined
  const ends = Object.entries(slots).map(([ext, end]) => [ext, parseLogEnd(end)] as const)
  if (ends.some(([, end]) => end === undefined)) return undefined
  return {
    ends: { journal, audit },
    turns,
    unsettled: unsettled as UnsettledAct[],
    slots: Object.fromEntries(ends) as Record<string, LogEnd>,
  }
}

const isAct = (value: unknown): boolean => isRecord(value) && isString(value.act)

/** Reads the head of the snapshot of a session; undefined if there is none. */
export const readSnapshotHead = async (medium: ReadableMedium): Promise<SnapshotHead | undefined> =>
  parseHead((await medium.state([headName])).get(headName))

/** Reads the snapshot of a session; undefined if it has none. Whether it fits the logs, they must tell. */
export async function readSnapshot(medium: ReadableMedium): Promise<Snapshot | undefined> {
  const head = await readSnapshotHead(medium)
  if (head === undefined) return undefined
  const texts = await medium.state(Object.keys(head.slots))
  const state = emptyState()
  state.turns = head.turns
  for (const act of head.unsettled) state.unsettled.set(act.act, act)
  const snapshot: Snapshot = { ends: head.ends, state, saved: new Map(), lacking: new Set() }
  for (const [ext, end] of Object.entries(head.slots)) {
    const slot = parseSlot(ext, texts.get(ext), end)
    if (slot === undefined) snapshot.lacking.add(ext)
    // A slot that is missing here keeps its place: a later value does not move it.
    state.slots.set(ext, slot ?? { version: '', value: undefined })
    if (slot !== undefined) snapshot.saved.set(ext, { slot, end })
  }
  return snapshot
}

function parseSlot(ext: string, text: string | undefined, end: LogEnd): StoredSlot | undefined {
  const { slot, version, value, broken, ...fields } = decode(text) ?? {}
  const trueFor = parseLogEnd(fields)
  if (slot !== ext || !isString(version) || trueFor === undefined || !isSameEnd(trueFor, end))
    return undefined
  return isString(broken) ? { version, value: undefined, broken } : { version, value }
}
