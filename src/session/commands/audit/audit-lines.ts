import { visibleText } from '../../../base/text/escape.ts'
import type { StintError } from '../../../base/errors/stint-error.ts'
import { auditDamage, type AuditRecord } from '../../index.ts'
import type { NamedSession } from '../which-session.ts'
import { formatTime, type Zone } from '../../../cli/text/format.ts'

export const auditLineTypes = ['intent', 'outcome', 'note'] as const

export interface LineFilter {
  /** Only lines of the last so many milliseconds. */
  since?: number
  action?: string
  /** A part of the subject, in upper or lower case. */
  subject?: string
  type?: string
  key?: string
  failed: boolean
}

/** Tells for the lines of one session, in order, which match. An outcome has the key of its intent. */
export function lineMatcher(filter: LineFilter): (line: AuditRecord) => boolean {
  const { since, action, type, key, failed } = filter
  const subject = filter.subject?.toLowerCase()
  const from = since === undefined ? 0 : Date.now() - since
  const keyed = new Set<string>()
  return (line) => {
    if (line.key === key && key !== undefined && line.act !== undefined) keyed.add(line.act)
    if (line.at < from || (action ?? line.action) !== line.action || (type ?? line.type) !== line.type)
      return false
    if (subject !== undefined && !line.subject?.toLowerCase().includes(subject)) return false
    if (key !== undefined && line.key !== key && !keyed.has(line.act ?? '')) return false
    return !failed || line.ok === false
  }
}

export function renderLine(line: AuditRecord, zone: Zone): string {
  const { seq, at, type, action, subject, ok, error } = line
  const how =
    ok === undefined ? '' : ok ? '  ok' : `  failed${error === undefined ? '' : `: ${error.message}`}`
  return visibleText(
    `${seq}  ${formatTime(at, zone)}  ${type}  ${action}${subject === undefined ? '' : `  ${subject}`}${how}`,
  )
}

/**
 * Reads all lines of the audit log, and then verifies it. Returns the damage, if there is any, so that the
 * caller can show what was read before it fails.
 */
export async function readAuditLines(
  { id, store }: NamedSession,
  take: (record: AuditRecord) => void,
): Promise<StintError | undefined> {
  const inspection = await store.inspect(id)
  for await (const record of inspection.audit()) take(record)
  return auditDamage(id, (await inspection.health()).audit)
}

/** Keeps the newest few of many items, in memory that does not grow with the rest. */
export class NewestItems<Item> {
  readonly #limit: number
  readonly #kept: Item[] = []

  constructor(limit: number) {
    this.#limit = limit
  }

  push(item: Item): void {
    this.#kept.push(item)
    // Cut now and then, not each time: each cut moves all items that stay.
    if (this.#kept.length > 2 * this.#limit + 1000) this.#kept.splice(0, this.#kept.length - this.#limit)
  }

  /** Oldest first. */
  get items(): Item[] {
    return this.#limit === 0 ? [] : this.#kept.slice(-this.#limit)
  }
}
