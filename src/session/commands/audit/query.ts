import { defineBareCommand } from '../../../command/define-command.ts'
import { StintError } from '../../../base/errors/stint-error.ts'
import { wrapLines } from '../../../base/text/wrap.ts'
import { utcOption, type Zone } from '../../../cli/text/format.ts'
import type { AuditRecord } from '../../index.ts'
import { openNamed } from '../which-session.ts'
import { openStore, storeOption } from '../../../cli/store.ts'
import { auditLineTypes, lineMatcher, NewestItems, readAuditLines, renderLine } from './audit-lines.ts'
import { printAllLines } from './query-all.ts'

const defaultLimit = 100

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
      const { columns } = screen
      await printAllLines(
        store,
        { json, limit, matcher: () => lineMatcher(options), zone: options, columns },
        warn,
      )
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
