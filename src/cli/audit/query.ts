import type { AuditRecord } from '../../session/audit-record.ts'
import type { OptionTable } from '../../command/option.ts'
import { defineBareCommand } from '../../command/define-command.ts'
import { StintError } from '../../base/errors/stint-error.ts'
import { visibleText } from '../../base/text/escape.ts'
import { formatTime } from '../text/format.ts'
import { openSession } from '../sessions/which-session.ts'
import { storeOption } from '../store.ts'
import { Newest } from './newest.ts'
import { readAudit } from './read-audit.ts'

const defaultLimit = 100

const options = {
  since: { type: 'duration', value: 'D', help: 'only lines of the last D, such as 1h' },
  action: { type: 'string', value: 'A', help: 'only lines of this action' },
  type: { type: 'string', choices: ['intent', 'outcome', 'note'], help: 'only lines of this type' },
  key: { type: 'string', value: 'KEY', help: 'only acts with this key' },
  failed: { type: 'boolean', help: 'only outcomes that failed' },
  limit: { type: 'count', value: 'N', help: `the newest N (${defaultLimit})` },
  ...storeOption,
} as const satisfies OptionTable

export const queryCommand = defineBareCommand({
  name: 'query',
  summary: 'Lines of the audit log as they are, by time, action, type or key.',
  options,
  positionals: 'ID',
  examples: [
    ['stint audit query mine --since 1h --action shell', 'of the last hour'],
    ['stint audit query mine --failed --json', 'what went wrong'],
  ],
  async run({ say, warn }, { options, positionals }) {
    const session = await openSession(options.store, positionals, warn)
    const { since, action, type, key, failed, limit = defaultLimit } = options
    const from = since === undefined ? 0 : Date.now() - since
    const keyed = new Set<string>()
    let matching = 0
    const newest = new Newest<AuditRecord>(limit)
    const damage = await readAudit(session, (record) => {
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
    say(renderLines(data.lines))
    throw new StintError(damage.code, damage.message, { ...damage.options, data })
  },
  render: ({ lines }) => renderLines(lines),
})

const renderLines = (lines: readonly AuditRecord[]): string =>
  lines.length === 0 ? 'no such lines' : lines.map(renderLine).join('\n')

function renderLine({ seq, at, type, action, subject, ok, error }: AuditRecord): string {
  const how =
    ok === undefined ? '' : ok ? '  ok' : `  failed${error === undefined ? '' : `: ${error.message}`}`
  return visibleText(
    `${seq}  ${formatTime(at)}  ${type}  ${action}${subject === undefined ? '' : `  ${subject}`}${how}`,
    1000,
  )
}
