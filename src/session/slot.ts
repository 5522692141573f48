import { StintError } from '../base/errors/stint-error.ts'
import type { StoredSlot } from './state.ts'

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
export interface SlotOpening<T> {
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
