import { StintError } from '../../base/errors/stint-error.ts'
import { formatDuration } from '../../base/text/duration.ts'
import { visibleText } from '../../base/text/escape.ts'
import { wrapLines } from '../../base/text/wrap.ts'
import { storeOption } from '../../cli/store.ts'
import { openProgressBar } from '../../cli/terminal/progress.ts'
import { formatTime, plural, utcOption, type Zone } from '../../cli/text/format.ts'
import { type CommandGroup, defineBareCommand } from '../../command/define-command.ts'
import { auditDamage, type AuditRecord } from '../index.ts'
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
    since: { type: 'duration', value: 'D', help: 'only acts of the last D, such as 1h' },
    failed: { type: 'boolean', help: 'only acts that failed' },
    ...utcOption,
    ...storeOption,
  },
  positionals: 'ID',
  examples: [
    ['stint audit show mine', 'the newest 50'],
    ['stint audit show mine --failed --since 7d', 'what went wrong this week'],
    ['stint audit show mine --all --json', 'for scripts'],
  ],
  async run({ say, warn }, { options, positionals }) {
    const { id, store } = await openNamed(options.store, positionals, warn)
    const inspection = await store.inspect(id)
    const from = Date.now() - (options.since ?? Number.POSITIVE_INFINITY)
    const all = await actsOf(inspection.audit())
    const matching = all.filter(({ at, state }) => at >= from && (!options.failed || state === 'failed'))
    const limit = options.all ? all.length : (options.limit ?? defaultLimit)
    const firstShown = matching.length - limit
    const acts = matching.filter(({ state }, index) => index >= firstShown || state === 'unsettled')
    const data = { session_id: id, acts, total: matching.length }
    const damage = auditDamage(id, (await inspection.health()).audit)
    if (damage === undefined) return data
    say(renderActs(acts, data.total, options))
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

/** Joins the intents and outcomes of an audit log; oldest act first. */
async function actsOf(records: AsyncIterable<AuditRecord>): Promise<ShownAct[]> {
  const acts: ShownAct[] = []
  const unsettled = new Map<string, ShownAct>()
  for await (const record of records) {
    const { type, act, at, ok, error, detail } = record
    const begun = type === 'outcome' && act !== undefined ? unsettled.get(act) : undefined
    if (begun === undefined) {
      const shown = shownAct(record)
      acts.push(shown)
      if (type === 'intent' && act !== undefined) unsettled.set(act, shown)
      continue
    }
    unsettled.delete(begun.act ?? '')
    begun.state = ok === false ? 'failed' : 'done'
    begun.duration_ms = at - begun.at
    begun.error = error?.message ?? null
    begun.detail ??= detail ?? null
  }
  return acts
}

const shownAct = ({
  seq,
  at,
  type,
  act,
  action,
  subject,
  key,
  ok,
  error,
  detail,
}: AuditRecord): ShownAct => ({
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
})

export const audit: CommandGroup = {
  name: 'audit',
  summary: 'What was intended and how it ended, in a hash chain that shows every change.',
  commands: {
    show: {
      summary: 'the newest acts and how they ended',
      load: async () => auditShowCommand,
    },
    verify: {
      summary: 'check that the chain is intact',
      load: async () => verifyCommand,
    },
  },
  examples: [
    ['stint audit show mine', 'what was done'],
    ['stint audit show mine --failed --since 7d', 'what went wrong this week'],
    ['stint audit verify mine', 'exit 4 if a line was changed, removed, moved or cut off'],
  ],
}
