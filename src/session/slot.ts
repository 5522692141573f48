import { StintError } from '../base/errors/stint-error.ts'
import type { StoredSlot } from './state.ts'

export interface SlotOptions<T> {
  /** The version of the value's shape. */
  version: string
  /** Its value before it was ever set. */
  initial: T
  /**
   * What to do with a value of another version: give it to `migrate` (the default where there is one), take it as it is and warn, or refuse it with
   * `SLOT_DRIFT`.
   */
  drift?: 'migrate' | 'warn' | 'reject'
  migrate?: (value: unknown, version: string) => T
}

/** A piece of state of one extension. What was set is there after a resume. */
export interface Slot<T> {
  readonly ext: string
  /** As last set. Changing it in place keeps nothing: use `set`. */
  readonly value: T
  /** Resolves when it is on disk. */
  set(value: T): Promise<void>
}

/** How a slot opens, over plain data. */
export interface SlotOpening<T> {
  value: T
  /** It is of another version, and was taken as it is. */
  warning?: string
}

/** Throws `SLOT_DRIFT` or `SLOT_BROKEN`; nothing is changed by that. */
export function openSlot<T>(
  ext: string,
  stored: StoredSlot | undefined,
  { version, initial, migrate, drift = migrate === undefined ? 'reject' : 'migrate' }: SlotOptions<T>,
): SlotOpening<T> {
  if (stored === undefined) return { value: initial }
  if (stored.broken !== undefined)
    throw new StintError('SLOT_BROKEN', `the slot ${ext} cannot be read: ${stored.broken}`)
  // A copy: a snapshot must have what was set, not what a caller has changed in it since.
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

/** An extension's name is shown, listed and kept: short, and printable. */
export function checkExtension(ext: unknown): asserts ext is string {
  if (typeof ext === 'string' && /^[\w@./-]{1,128}$/.test(ext)) return
  throw new StintError(
    'ARG_ERROR',
    `${JSON.stringify(String(ext).slice(0, 60))} cannot be the name of a slot`,
    {
      hint: 'Use letters, digits and "@./_-", at most 128.',
    },
  )
}
