import { auditDamage, type AuditRecord, type Pending } from '../../session/index.ts'
import { defineBareCommand } from '../../command/define-command.ts'
import { StintError } from '../../base/errors/stint-error.ts'
import { visibleText } from '../../base/text/escape.ts'
import { formatTime, utcOption, type Zone } from '../text/format.ts'
import { type NamedSession, openNamed } from '../sessions/which-session.ts'
import { storeOption } from '../store.ts'

/** A line of the audit log, or one that a visitor left for it. */
export type AuditLine = AuditRecord | Pending<AuditRecord>

const defaultLimit = 100

export const queryCommand = defineBareCommand({
  name: 'query',
  summary: 'Lines of the audit log as they are, by time, action, type or key.',
  options: {
    since: { type: 'duration', value: 'D', help: 'only lines of the last D, such as 1h' },
    action: { type: 'string', value: 'A', help: 'only lines of this action' },
    type: { type: 'string', choices: ['intent', 'outcome', 'note'], help: 'only lines of this type' },
    key: { type: 'string', value: 'KEY', help: 'only acts with this key' },
    failed: { type: 'boolean', help: 'only outcomes that failed' },
    limit: { type: 'count', value: 'N', help: `the newest N (${defaultLimit})` },
    ...utcOption,
    ...storeOption,
  },
  positionals: 'ID',
  examples: [
    ['stint audit query mine --since 1h --action shell', 'of the last hour'],
    ['stint audit query mine --failed --json', 'what went wrong'],
  ],
  async run({ say, warn }, { options, positionals }) {
    const session = await openNamed(options.store, positionals, warn)
    const { since, action, type, key, failed, limit = defaultLimit } = options
    const from = since === undefined ? 0 : Date.now() - since
    const keyed = new Set<string>()
    let matching = 0
    const newest = new NewestItems<AuditLine>(limit)
    const damage = await readAuditLines(session, (record) => {
      if (record.key === key && key !== undefined && record.act !== undefined) keyed.add(record.act)
      if (
        record.at < from ||
        (action ?? record.action) !== record.action ||
        (type ?? record.type) !== record.type
      )
        return
      if (key !== undefined && record.key !== key && !keyed.has(record.act ?? '')) return
      if (failed && record.ok !== false) return
      matching += 1
      newest.push(record)
    })
    const data = { session_id: session.id, lines: newest.items, matching }
    if (damage === undefined) return data
    say(renderLines(data.lines, options))
    throw new StintError(damage.code, damage.message, { ...damage.options, data })
  },
  render: ({ lines }, _, { options }) => renderLines(lines, options),
})

const renderLines = (lines: readonly AuditLine[], zone: Zone): string =>
  lines.length === 0 ? 'no such lines' : lines.map((line) => renderLine(line, zone)).join('\n')

function renderLine(line: AuditLine, zone: Zone): string {
  const { seq, at, type, action, subject, ok, error } = line
  const how =
    ok === undefined ? '' : ok ? '  ok' : `  failed${error === undefined ? '' : `: ${error.message}`}`
  return visibleText(
    `${seq ?? 'pending'}  ${formatTime(at, zone)}  ${type}  ${action}${subject === undefined ? '' : `  ${subject}`}${how}`,
  )
}

/**
 * Reads all lines of the audit log, and then verifies it. Returns the damage, if there is any, so that the
 * caller can show what was read before it fails.
 */
export async function readAuditLines(
  { id, store }: NamedSession,
  take: (record: AuditLine) => void,
): Promise<StintError | undefined> {
  const inspection = await store.inspect(id)
  for await (const record of inspection.audit()) take(record)
  return auditDamage(id, (await inspection.health()).audit, store.driver.damageHint)
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
