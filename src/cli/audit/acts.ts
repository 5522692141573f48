import type { AuditRecord } from '../../session/audit-record.ts'
import { Newest } from './newest.ts'

/** An act, from its intent to its outcome; or a line that stands alone. */
export interface ShownAct {
  seq: number
  at: number
  action: string
  subject: string | null
  key: string | null
  act: string | null
  /** `unsettled`: nobody has recorded how it ended. */
  state: 'done' | 'failed' | 'unsettled' | 'note'
  duration_ms: number | null
  error: string | null
  detail: unknown
}

/** Puts intents and outcomes together, over the lines as they come; keeps the newest, and all that are unsettled. */
export class ActTable {
  readonly #newest: Newest<ShownAct>
  readonly #open = new Map<string, ShownAct>()
  total = 0

  constructor(limit: number) {
    this.#newest = new Newest(limit)
  }

  take(record: AuditRecord): void {
    const { type, act, at, ok, error, detail } = record
    const begun = type === 'outcome' && act !== undefined ? this.#open.get(act) : undefined
    if (begun === undefined) {
      this.#add(record)
      return
    }
    this.#open.delete(act as string)
    begun.state = ok === false ? 'failed' : 'done'
    begun.duration_ms = at - begun.at
    begun.error = error?.message ?? null
    begun.detail ??= detail ?? null
  }

  /** Oldest first. */
  get acts(): ShownAct[] {
    const newest = this.#newest.items
    const first = newest[0]?.seq ?? Number.POSITIVE_INFINITY
    const older = [...this.#open.values()].filter(({ seq }) => seq < first)
    return [...older, ...newest]
  }

  #add({ seq, at, type, act, action, subject, key, ok, error, detail }: AuditRecord): void {
    const shown: ShownAct = {
      seq,
      at,
      action,
      subject: subject ?? null,
      key: key ?? null,
      act: act ?? null,
      state: type === 'intent' ? 'unsettled' : type === 'note' ? 'note' : ok === false ? 'failed' : 'done',
      duration_ms: null,
      error: error?.message ?? null,
      detail: detail ?? null,
    }
    this.total += 1
    if (type === 'intent' && act !== undefined) this.#open.set(act, shown)
    this.#newest.push(shown)
  }
}
