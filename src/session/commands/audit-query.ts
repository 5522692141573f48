import { StintError } from '../../base/errors/stint-error.ts'
import { visibleJson, visibleText } from '../../base/text/escape.ts'
import { wrapLines } from '../../base/text/wrap.ts'
import { openStore, storeOption } from '../../cli/store.ts'
import { printLines } from '../../cli/terminal/print.ts'
import { formatTime, utcOption, type Zone } from '../../cli/text/format.ts'
import { defineBareCommand } from '../../command/define-command.ts'
import { attestedBy, auditDamage, type AuditRecord, type BuiltInStore } from '../index.ts'
import { type NamedSession, openNamed } from './which-session.ts'

const defaultLimit = 100
const auditLineTypes = ['intent', 'outcome', 'note'] as const

export const queryCommand = defineBareCommand({
  name: 'query',
  summary: 'Lines of an audit log as they are, or with --all of every session: by time, action, type or key.',
  options: {
    all: { type: 'boolean', help: 'every session, newest activity first; prints lines as they are read' },
    since: { type: 'duration', value: 'D', help: 'only lines of the last D, such as 1h' },
    action: { type: 'string', value: 'A', help: 'only lines of this action' },
    subject: { type: 'string', value: 'TEXT', help: 'only lines whose subject contains this' },
    type: { type: 'string', choices: auditLineTypes, help: 'only lines of this type' },
    key: { type: 'string', value: 'KEY', help: 'only acts with this key' },
    failed: { type: 'boolean', help: 'only outcomes that failed' },
    limit: {
      type: 'count',
      value: 'N',
      help: `the newest N (${defaultLimit}; with --all: all) of a session`,
    },
    ...utcOption,
    ...storeOption,
  },
  positionals: '[ID]',
  stream: ({ options }) => options.all === true,
  examples: [
    ['stint audit query mine --since 1h --action shell', 'of the last hour'],
    ['stint audit query mine --failed --json', 'what went wrong'],
    ['stint audit query --all --since 7d --failed', 'what went wrong this week, anywhere'],
  ],
  async run({ say, warn, json, screen }, { options, positionals }) {
    const { all, limit } = options
    if (all && positionals.length > 0) throw new StintError('ARG_ERROR', '--all and an id exclude each other')
    if (all) {
      const store = await openStore(options.store, warn)
      const formatLine = (id: string, line: AuditRecord): string =>
        json
          ? visibleJson({ session_id: id, ...line })
          : wrapLines(`${id}  ${renderLine(line, options)}`, screen.columns)
      await printAllLines(store, { limit, matcher: () => lineMatcher(options), formatLine, warn })
      return undefined
    }
    const session = await openNamed(options.store, positionals, warn)
    const matches = lineMatcher(options)
    let matching = 0
    const newest = new NewestItems<AuditRecord>(limit ?? defaultLimit)
    const damage = await readAuditLines(session, (record) => {
      if (!matches(record)) return
      matching += 1
      newest.push(record)
    })
    const data = { session_id: session.id, lines: newest.items, matching }
    if (damage === undefined) return data
    say(renderLines(data.lines, options, screen.columns))
    throw new StintError(damage.code, damage.message, { ...damage.options, data })
  },
  render: (data, { columns }, { options }) => renderLines(data?.lines ?? [], options, columns),
})

const renderLines = (lines: readonly AuditRecord[], zone: Zone, columns: number): string =>
  lines.length === 0
    ? 'no such lines'
    : lines.map((line) => wrapLines(renderLine(line, zone), columns)).join('\n')

interface AllLines {
  /** The newest so many of each session; all if undefined. */
  limit?: number
  /** Makes the filter of one session. */
  matcher: () => (line: AuditRecord) => boolean
  formatLine: (id: string, line: AuditRecord) => string
  warn: (message: string) => void
}

/**
 * Prints the matching audit lines of all sessions, newest activity first, as they are read. Throws at the end
 * if lines of a session are missing or cannot be read.
 */
async function printAllLines(store: BuiltInStore, { formatLine, warn, ...options }: AllLines): Promise<void> {
  const damaged: string[] = []
  const lines = async function* (): AsyncGenerator<string> {
    for (const { id } of await store.list())
      try {
        for await (const line of linesOf(store, id, options)) yield formatLine(id, line)
      } catch (error) {
        if (!(error instanceof StintError)) throw error
        // A session that was removed meanwhile has no lines.
        if (error.code === 'NOT_FOUND') continue
        damaged.push(id)
        warn(`${id}: ${error.message}`)
      }
  }
  if (!(await printLines(lines())) || damaged.length === 0) return
  const shown = damaged.slice(0, 10).join(', ')
  throw new StintError('AUDIT_CORRUPT', `audit lines are missing or changed: ${shown}`, {
    hint: '`stint audit verify ID` shows where.',
  })
}

/** Reads the matching lines of a session, oldest first. Throws after its last line if there were more. */
async function* linesOf(
  store: BuiltInStore,
  id: string,
  { limit, matcher }: Pick<AllLines, 'limit' | 'matcher'>,
): AsyncGenerator<AuditRecord> {
  const inspection = await store.inspect(id)
  const matches = matcher()
  const newest = limit === undefined ? undefined : new NewestItems<AuditRecord>(limit)
  let last = 0
  for await (const line of inspection.audit()) {
    last = line.seq
    if (!matches(line)) continue
    if (newest === undefined) yield line
    else newest.push(line)
  }
  yield* newest?.items ?? []
  const attested = attestedBy(inspection.manifest).audit?.count ?? 0
  if (last < attested)
    throw new StintError('AUDIT_CORRUPT', `line ${last + 1} is missing or changed, of ${attested} or more`)
}

interface LineFilter {
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
function lineMatcher(filter: LineFilter): (line: AuditRecord) => boolean {
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

function renderLine(line: AuditRecord, zone: Zone): string {
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
