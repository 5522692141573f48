import { StintError } from '../primitives/stint-error.ts'
import type { StoredSlot } from './state.ts'

export interface SlotOptions<T> {
  /** The version of the value's shape. */
  version: string
  /** What it is before it was ever set. */
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
  /** As last set; what you change in it yourself is not kept. */
  readonly value: T
  /** Resolves when it is on disk. */
  set(value: T): Promise<void>
}

/** How a slot opens, over plain data. */
export type SlotOpening<T> =
  | { outcome: 'value'; value: T; warning?: string }
  /** Of another version, and made to fit. */
  | { outcome: 'migrated'; value: T }

/** Throws `SLOT_DRIFT` or `SLOT_BROKEN`; nothing is changed by that. */
export function openSlot<T>(
  ext: string,
  stored: StoredSlot | undefined,
  { version, initial, migrate, drift = migrate === undefined ? 'reject' : 'migrate' }: SlotOptions<T>,
): SlotOpening<T> {
  if (stored === undefined) return { outcome: 'value', value: initial }
  if (stored.broken !== undefined)
    throw new StintError('SLOT_BROKEN', `the slot ${ext} cannot be read: ${stored.broken}`)
  if (stored.version === version) return { outcome: 'value', value: stored.value as T }
  const drifted = `the slot ${ext} has version ${stored.version}, not ${version}`
  if (drift === 'warn') return { outcome: 'value', value: stored.value as T, warning: drifted }
  if (drift === 'reject' || migrate === undefined) throw new StintError('SLOT_DRIFT', drifted)
  try {
    return { outcome: 'migrated', value: migrate(structuredClone(stored.value), stored.version) }
  } catch (cause) {
    const { message } = cause as Error
    throw new StintError('SLOT_DRIFT', `${drifted}, and cannot be migrated: ${message}`, { cause })
  }
}

/** An extension's name is shown, listed and kept: short, and printable. */
export function checkExtension(ext: unknown): asserts ext is string {
  if (typeof ext === 'string' && /^[\w@./-]{1,128}$/.test(ext)) return
  throw new StintError('ARG_ERROR', `${JSON.stringify(String(ext).slice(0, 60))} is no name for a slot`, {
    hint: 'Use letters, digits and "@./_-", at most 128.',
  })
}
