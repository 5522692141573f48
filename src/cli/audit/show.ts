import type { OptionTable } from '../../command/option.ts'
import { defineBareCommand } from '../../command/define-command.ts'
import { formatDuration } from '../../base/text/duration.ts'
import { StintError } from '../../base/errors/stint-error.ts'
import { visibleText } from '../../base/text/escape.ts'
import { plural, formatTime } from '../text/format.ts'
import { openSession } from '../sessions/which-session.ts'
import { storeOption } from '../store.ts'
import { ActTable, type ShownAct } from './acts.ts'
import { readAudit } from './read-audit.ts'

const defaultLimit = 50

const options = {
  limit: {
    type: 'count',
    value: 'N',
    help: `how many of the newest (${defaultLimit}); unsettled ones are always shown`,
  },
  all: { type: 'boolean', help: 'all of them' },
  ...storeOption,
} as const satisfies OptionTable

export const showCommand = defineBareCommand({
  name: 'show',
  summary: 'The newest acts of a session and how they ended; acts without an outcome are unsettled.',
  options,
  positionals: 'ID',
  examples: [
    ['stint audit show mine', 'the newest 50'],
    ['stint audit show mine --all --json', 'for scripts'],
  ],
  async run({ say, warn }, { options, positionals }) {
    const session = await openSession(options.store, positionals, warn)
    const acts = new ActTable(options.all ? Number.MAX_SAFE_INTEGER : (options.limit ?? defaultLimit))
    const damage = await readAudit(session, (record) => acts.take(record))
    const data = { session_id: session.id, acts: acts.acts, total: acts.total }
    if (damage === undefined) return data
    say(renderActs(data.acts, data.total))
    throw new StintError(damage.code, damage.message, { ...damage.options, data })
  },
  render: ({ acts, total }) => renderActs(acts, total),
})

function renderActs(acts: readonly ShownAct[], total: number): string {
  if (total === 0) return 'nothing was recorded'
  const rest = total - acts.length
  return [
    ...(rest > 0 ? [`${plural(rest, 'older act')}: --all shows them`] : []),
    ...acts.map(renderAct),
  ].join('\n')
}

function renderAct({ seq, at, action, subject, state, duration_ms, error }: ShownAct): string {
  const how = duration_ms === null ? state : `${state} in ${formatDuration(duration_ms)}`
  const what = subject === null ? '' : `  ${subject}`
  const why = error === null ? '' : `  (${error})`
  return visibleText(`${seq}  ${formatTime(at)}  ${how}  ${action}${what}${why}`, 1000)
}
