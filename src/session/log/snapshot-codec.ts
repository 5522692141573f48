import { isCount, isRecord, parseObject } from '../../base/text/fields.ts'
import type { UnsettledAct } from '../audit-record.ts'
import { emptyState, type FoldedState } from '../state.ts'
import { verifiedText, withChecksum } from './line-checksum.ts'
import { type LogEnd, type LogEnds, storedEnds } from './log-end.ts'
import type { BlobName } from './record.ts'

/** The state of a session at one place of its logs: a cache of what the records up to there add up to. */
export interface Snapshot<End extends LogEnd = LogEnd> {
  /** The last record of the journal that it covers. */
  seq: number
  ends: LogEnds<End>
  state: FoldedState
}

/** A snapshot as it is stored: the values of its slots are stored apart, each under its content name. */
export interface StoredSnapshot<End extends LogEnd = LogEnd> extends Omit<Snapshot<End>, 'state'> {
  turns: number
  unsettled: UnsettledAct[]
  slots: Record<string, { version: string } & (BlobName | { broken: string })>
}

/** How many snapshots of a session a store keeps. */
export const keptSnapshots = 3

/**
 * Encodes a snapshot taken at `at`, in milliseconds since the epoch. `putValue` stores the value of a slot;
 * it is not called for a broken slot.
 */
export function encodeSnapshot(
  { ends, state }: Omit<Snapshot, 'seq'>,
  at: number,
  putValue: (ext: string) => BlobName,
): string {
  const slots = [...state.slots].map(([ext, { version, broken }]) => [
    ext,
    { version, ...(broken === undefined ? putValue(ext) : { broken }) },
  ])
  const fields = {
    schema: 1,
    seq: ends.journal.seq,
    at,
    turns: state.turns,
    ...storedEnds(ends),
    unsettled: [...state.unsettled.values()],
    slots: Object.fromEntries(slots) as object,
  }
  return withChecksum(JSON.stringify(fields).slice(0, -1))
}

/** Reads an encoded snapshot; undefined if it is damaged. `parseEnd` checks a place in a log. */
export function parseSnapshot<End extends LogEnd>(
  bytes: Buffer,
  parseEnd: (value: unknown) => End | undefined,
): StoredSnapshot<End> | undefined {
  const text = verifiedText(bytes)
  const fields = text === undefined ? undefined : parseObject(`${text.toString()}}`)
  if (fields?.schema !== 1) return undefined
  const [journal, audit] = [parseEnd(fields.journal), parseEnd(fields.audit)]
  const { turns, unsettled, slots } = fields
  if (journal === undefined || audit === undefined || !isCount(turns)) return undefined
  if (!Array.isArray(unsettled) || !isRecord(slots)) return undefined
  const stored = { seq: journal.seq, ends: { journal, audit }, turns, unsettled, slots }
  return stored as StoredSnapshot<End>
}

/** Puts the values of the slots back. Undefined if `readValue` returns undefined or throws for one. */
export function restoreSnapshot<End extends LogEnd>(
  { turns, unsettled, slots, ...snapshot }: StoredSnapshot<End>,
  readValue: (name: BlobName) => string | undefined,
): Snapshot<End> | undefined {
  const state = emptyState()
  state.turns = turns
  try {
    for (const act of unsettled) state.unsettled.set(act.act, act)
    for (const [ext, { version, ...stored }] of Object.entries(slots)) {
      if ('broken' in stored) {
        state.slots.set(ext, { version, value: undefined, broken: stored.broken })
        continue
      }
      const json = readValue(stored)
      if (json === undefined) return undefined
      state.slots.set(ext, { version, value: JSON.parse(json) as unknown })
    }
  } catch {
    return undefined
  }
  return { ...snapshot, state }
}
