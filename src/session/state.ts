import type { AuditRecord, UnsettledAct } from './audit-record.ts'
import { StintError } from '../base/errors/stint-error.ts'
import type { NewEvent, RecoveryReport, SnapshotPolicy } from './store.ts'

/** The state that the logs of a session add up to. A snapshot has it at one position of the logs. */
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

/** The slots whose values could not be read. */
export const brokenSlots = ({ slots }: FoldedState): RecoveryReport['brokenSlots'] =>
  [...slots].flatMap(([ext, { broken: why }]) => (why === undefined ? [] : [{ ext, why }]))

/** The types of stint's own records; only these change the state, and `checkRecord` knows the prefix. */
export const ownPrefix = 'stint.'
export const slotType = 'stint.slot'
export const turnType = 'stint.turn'

/** Applies a line of the audit log to the state. */
export function applyAuditRecord(state: FoldedState, record: AuditRecord): void {
  const { type, act, seq, at, action, subject, key } = record
  if (act === undefined) return
  if (type === 'intent') state.unsettled.set(act, { act, seq, at, action, subject, key })
  if (type === 'outcome') state.unsettled.delete(act)
}

/** A snapshot at the end of each turn. It costs a rename, or two, and no sync. */
const defaultPolicy: SnapshotPolicy = { at: 'turn', minBytes: 0, minRecords: 0 }

/** The policy of a session, with defaults; `ARG_ERROR` if `critical` is no list of types and no function. */
export function snapshotPolicy(given: Partial<SnapshotPolicy> = {}): SnapshotPolicy {
  const policy = { ...defaultPolicy, ...given }
  const { critical } = policy
  const isList = Array.isArray(critical) && critical.every((type) => typeof type === 'string')
  if (critical === undefined || isList || typeof critical === 'function') return policy
  throw new StintError('ARG_ERROR', '`snapshots.critical` must be an array of event types, or a function')
}

/** Does the policy want a snapshot after this event? */
export const isCritical = (
  { critical = [] }: SnapshotPolicy,
  event: Pick<NewEvent, 'type' | 'data'>,
): boolean => (typeof critical === 'function' ? critical(event) : critical.includes(event.type))

/** Has enough been written since the last snapshot? A resume replays the rest. */
export const isWorthIt = (
  { minBytes, minRecords }: SnapshotPolicy,
  { records, bytes }: { records: number; bytes: number },
): boolean => records > 0 && (bytes >= minBytes || records >= minRecords)
