import { StintError } from '../base/errors/stint-error.ts'
import type { LogEntry, StoredReceipt, StoredRecord } from './log/record.ts'
import type { NewEvent, RecoveryReport, SnapshotPolicy, AuditRecord, UnsettledAct } from './store.ts'

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
export function snapshotPolicy(options: Partial<SnapshotPolicy> = {}): SnapshotPolicy {
  const policy = { ...defaultPolicy, ...options }
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

export interface SlotOptions<T> {
  /** The version of the value's shape. */
  version: string
  /** Its value until it is set for the first time. */
  initial: T
  /**
   * How to treat a value of another version: pass it to `migrate` (the default if there is one), take it
   * as it is and warn, or refuse it with `SLOT_DRIFT`.
   */
  drift?: 'migrate' | 'warn' | 'reject'
  migrate?: (value: unknown, version: string) => T
}

/** The state of one extension, which survives a resume. */
export interface Slot<T> {
  readonly ext: string
  /** The value that was last set. Changing it in place keeps nothing: use `set`. */
  readonly value: T
  /** Resolves when it is on disk. */
  set(value: T): Promise<void>
}

/** The value of a slot that was opened. */
interface SlotOpening<T> {
  value: T
  /** Set if a value of another version was taken as it is. */
  warning?: string
}

/** Opens a slot with its stored value, and changes nothing. Throws `SLOT_DRIFT` or `SLOT_BROKEN`. */
export function openSlot<T>(
  ext: string,
  stored: StoredSlot | undefined,
  { version, initial, migrate, drift = migrate === undefined ? 'reject' : 'migrate' }: SlotOptions<T>,
): SlotOpening<T> {
  if (stored === undefined) return { value: initial }
  if (stored.broken !== undefined)
    throw new StintError('SLOT_BROKEN', `the slot ${ext} cannot be read: ${stored.broken}`)
  // A copy: a snapshot must contain the value that was set, whatever the caller does to its own.
  const value: unknown = structuredClone(stored.value)
  if (stored.version === version) return { value: value as T }
  const drifted = `the slot ${ext} has version ${stored.version}, not ${version}`
  if (drift === 'warn') return { value: value as T, warning: drifted }
  if (drift === 'reject' || migrate === undefined) throw new StintError('SLOT_DRIFT', drifted)
  try {
    return { value: migrate(value, stored.version) }
  } catch (cause) {
    const { message } = cause as Error
    throw new StintError('SLOT_DRIFT', `${drifted}, and cannot be migrated: ${message}`, { cause })
  }
}

/** `ARG_ERROR` unless this can be the name of a slot: short and printable. */
export function checkExtension(ext: unknown): asserts ext is string {
  if (typeof ext === 'string' && /^[\w@./-]{1,128}$/.test(ext)) return
  throw new StintError('ARG_ERROR', `${JSON.stringify(String(ext).slice(0, 60))} is not a valid slot name`, {
    hint: 'Use letters, digits and "@./_-", at most 128 characters.',
  })
}

/** The audit record of a stored record. */
export function auditRecordOf({ seq, at, type, data, masked, hash = '' }: StoredRecord): AuditRecord {
  const fields = typeof data === 'object' && data !== null ? (data as Partial<AuditRecord>) : {}
  const kind = type === 'intent' || type === 'outcome' ? type : 'note'
  const record: AuditRecord = { ...fields, seq, at, type: kind, action: String(fields.action ?? ''), hash }
  if (masked) record.masked = true
  return record
}

/** The audit record of an entry that was just written. */
export const auditRecordFrom = ({ type, json, masked }: LogEntry, receipt: StoredReceipt): AuditRecord =>
  auditRecordOf({ ...receipt, type, data: JSON.parse(json) as unknown, masked })
