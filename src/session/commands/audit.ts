import { StintError } from '../../base/errors/stint-error.ts'
import { formatDuration } from '../../base/text/duration.ts'
import { visibleText } from '../../base/text/escape.ts'
import { wrapLines } from '../../base/text/wrap.ts'
import { storeOption } from '../../cli/store.ts'
import { openProgressBar } from '../../cli/terminal/progress.ts'
import { formatTime, plural, utcOption, type Zone } from '../../cli/text/format.ts'
import { type CommandGroup, defineBareCommand } from '../../command/define-command.ts'
import { auditDamage, type AuditRecord } from '../index.ts'
import { NewestItems, readAuditLines } from './audit-query.ts'
import { openNamed } from './which-session.ts'

const verifyCommand = defineBareCommand({
  name: 'verify',
  summary:
    'Follows the chain of an audit log from its first line to its last, and compares it with what the journal, the snapshots and the manifest attest: exit 4 if a line was changed, removed, moved or cut off.',
  options: storeOption,
  positionals: 'ID',
  examples: [['stint audit verify mine', 'prints the head of the chain: keep it somewhere else']],
  async run({ signal, quiet, warn }, { options, positionals }) {
    const { id, store } = await openNamed(options.store, positionals, warn)
    const inspection = await store.inspect(id)
    const bar = await openProgressBar('verifying', { signal, quiet })
    const health = await inspection.health((bytes) => bar?.update({ bytes })).finally(() => bar?.clear())
    const { records, head, findings, state } = health.audit
    const data = { session_id: id, lines: records, head, state, findings }
    const damage = auditDamage(id, health.audit)
    if (damage !== undefined) throw new StintError(damage.code, damage.message, { ...damage.options, data })
    for (const finding of findings) warn(finding)
    return data
  },
  render: ({ lines, head }, { columns }) =>
    wrapLines(`${plural(lines, 'line')} in an unbroken chain; its head is ${head}`, columns),
})

const defaultLimit = 50

const auditShowCommand = defineBareCommand({
  name: 'show',
  summary: 'The newest acts of a session and how they ended; acts without an outcome are unsettled.',
  options: {
    limit: {
      type: 'count',
      value: 'N',
      help: `how many of the newest (${defaultLimit}); unsettled ones are always shown`,
    },
    all: { type: 'boolean', help: 'all of them' },
    ...utcOption,
    ...storeOption,
  },
  positionals: 'ID',
  examples: [
    ['stint audit show mine', 'the newest 50'],
    ['stint audit show mine --all --json', 'for scripts'],
  ],
  async run({ say, warn }, { options, positionals }) {
    const session = await openNamed(options.store, positionals, warn)
    const acts = new ActTable(options.all ? Number.MAX_SAFE_INTEGER : (options.limit ?? defaultLimit))
    const damage = await readAuditLines(session, (record) => acts.take(record))
    const data = { session_id: session.id, acts: acts.acts, total: acts.total }
    if (damage === undefined) return data
    say(renderActs(data.acts, data.total, options))
    throw new StintError(damage.code, damage.message, { ...damage.options, data })
  },
  render: ({ acts, total }, _, { options }) => renderActs(acts, total, options),
})

function renderActs(acts: readonly ShownAct[], total: number, zone: Zone): string {
  if (total === 0) return 'nothing was recorded'
  const rest = total - acts.length
  return [
    ...(rest > 0 ? [`${plural(rest, 'older act')}: --all shows them`] : []),
    ...acts.map((act) => renderAct(act, zone)),
  ].join('\n')
}

function renderAct(act: ShownAct, zone: Zone): string {
  const { seq, at, action, subject, state, duration_ms, error } = act
  const how = duration_ms === null ? state : `${state} in ${formatDuration(duration_ms)}`
  const what = subject === null ? '' : `  ${subject}`
  const why = error === null ? '' : `  (${error})`
  return visibleText(`${seq}  ${formatTime(at, zone)}  ${how}  ${action}${what}${why}`)
}

/** An act, from its intent to its outcome; or a line that stands alone. */
interface ShownAct {
  seq: number
  at: number
  action: string
  subject: string | null
  key: string | null
  act: string | null
  /** `unsettled`: no outcome was recorded. */
  state: 'done' | 'failed' | 'unsettled' | 'note'
  duration_ms: number | null
  error: string | null
  detail: unknown
}

/** Joins intents and outcomes, line by line; keeps the newest acts and all that are unsettled. */
class ActTable {
  readonly #newest: NewestItems<ShownAct>
  readonly #open = new Map<string, ShownAct>()
  total = 0

  constructor(limit: number) {
    this.#newest = new NewestItems(limit)
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

  /** The acts that were kept, oldest first. */
  get acts(): ShownAct[] {
    const newest = this.#newest.items
    const kept = new Set(newest)
    return [...[...this.#open.values()].filter((act) => !kept.has(act)), ...newest]
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

export const audit: CommandGroup = {
  name: 'audit',
  summary: 'What was intended and how it ended, in a hash chain that shows every change.',
  commands: {
    show: {
      summary: 'the newest acts and how they ended',
      load: async () => auditShowCommand,
    },
    query: {
      summary: 'find lines by time and action',
      load: async () => (await import('./audit-query.ts')).queryCommand,
    },
    verify: {
      summary: 'check that the chain is intact',
      load: async () => verifyCommand,
    },
  },
  examples: [
    ['stint audit show mine', 'what was done'],
    ['stint audit query mine --since 1h --action shell', 'every line of the last hour'],
    ['stint audit query --all --failed --since 7d', 'what went wrong this week, anywhere'],
    ['stint audit verify mine', 'exit 4 if a line was changed, removed, moved or cut off'],
  ],
}
