import type { AuditRecord, UnsettledAct } from './audit-record.ts'
import type { LogRecord } from './log/record.ts'
import { errorCode } from '../base/errors/stint-error.ts'

/** What a session's logs add up to: the fold of its records. A snapshot is this, at one position. */
export interface FoldedState {
  turns: number
  slots: Map<string, StoredSlot>
  /** Intents without an outcome, by act. */
  unsettled: Map<string, UnsettledAct>
}

/** A slot as it was last set. */
export interface StoredSlot {
  version: string
  value: unknown
  /** Why its value could not be read. */
  broken?: string
}

export const emptyState = (): FoldedState => ({ turns: 0, slots: new Map(), unsettled: new Map() })

/** The records that count for the state; all others are only kept. */
export const ownPrefix = 'stint.'
export const slotType = 'stint.slot'
export const turnType = 'stint.turn'

/** Takes a record of ours in. `read` gives its data, which may lie elsewhere and be unreadable. */
export function takeRecord(state: FoldedState, { type, slot }: LogRecord, read: () => unknown): void {
  if (type === turnType) state.turns += 1
  if (type !== slotType || slot === undefined) return
  const { ext, version } = slot
  try {
    state.slots.set(ext, { version, value: read() })
  } catch (error) {
    // A disk that fails now may work the next time. A slot that is said to be broken stays broken.
    if ((errorCode(error) ?? 'BLOB_MISSING') !== 'BLOB_MISSING') throw error
    state.slots.set(ext, { version, value: undefined, broken: (error as Error).message })
  }
}

/** Takes a line of the audit log in. */
export function takeAudit(state: FoldedState, record: AuditRecord): void {
  const { type, act, seq, at, action, subject, key } = record
  if (act === undefined) return
  if (type === 'intent') state.unsettled.set(act, { act, seq, at, action, subject, key })
  if (type === 'outcome') state.unsettled.delete(act)
}
