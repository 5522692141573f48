import { StintError } from '../base/errors/stint-error.ts'
import type { AuditRecord } from './audit-record.ts'

/** What is known of the act with a key. */
export type Fate =
  | { state: 'unsettled'; act: string; at: number; action: string }
  | { state: 'done'; result: unknown }
  | { state: 'failed'; message: string }

/** The keys of all acts so far, with how they ended. */
export class Acts {
  readonly #fates = new Map<string, Fate>()
  readonly #keys = new Map<string, string>()

  fateOf(key: string): Fate | undefined {
    return this.#fates.get(key)
  }

  take({ type, act, key, at, action, ok, result, error }: AuditRecord): void {
    if (act === undefined) return
    if (type === 'intent' && key !== undefined) {
      this.#keys.set(act, key)
      this.#fates.set(key, { state: 'unsettled', act, at, action })
    }
    const known = this.#keys.get(act)
    if (type !== 'outcome' || known === undefined) return
    this.#keys.delete(act)
    this.#fates.set(
      known,
      ok === false ? { state: 'failed', message: error?.message ?? 'it failed' } : { state: 'done', result },
    )
  }
}

/** May an act with this fate be done? Throws if only the caller can say so. */
export function refuseRepeat(key: string, fate: Fate | undefined, again: boolean): void {
  if (fate === undefined || fate.state === 'done' || again) return
  if (fate.state === 'failed')
    throw new StintError(
      'ACT_FAILED',
      `the act with the key ${JSON.stringify(key)} has failed: ${fate.message}`,
    )
  const begun = new Date(fate.at).toISOString()
  throw new StintError(
    'ACT_UNCERTAIN',
    `the act with the key ${JSON.stringify(key)} was begun at ${begun}, and no outcome was recorded`,
    { detail: `act=${fate.act} action=${fate.action}` },
  )
}

/** An act within itself would wait for ever. */
export const waitsForItself = (key: string): StintError =>
  new StintError('ARG_ERROR', `the act with the key ${JSON.stringify(key)} is done within itself`, {
    hint: 'Give the inner act a key of its own.',
  })

/** An error as an outcome tells it: whatever somebody throws. */
export function failureOf(error: unknown): { code?: string; message: string } {
  try {
    const { code, message } = (error ?? {}) as { code?: unknown; message?: unknown }
    return {
      ...(typeof code === 'string' ? { code } : {}),
      message: typeof message === 'string' ? message : String(error),
    }
  } catch {
    return { message: `a thrown ${typeof error}` }
  }
}
