import { defineBareCommand } from '../../command/define-command.ts'
import { findWorkspace } from '../../lease/index.ts'
import { StintError } from '../../base/errors/stint-error.ts'
import { sessionStates } from '../../session/index.ts'
import { showWork } from '../terminal/progress.ts'
import { plural } from '../text/format.ts'
import { table } from '../text/table.ts'
import { openStore, storeOption } from '../store.ts'
import { describeSession, sessionColumns, type SessionDescription } from './describe.ts'

const defaultLimit = 20

export const listCommand = defineBareCommand({
  name: 'list',
  summary: 'The newest sessions: what they are, their state, and their size.',
  options: {
    all: { type: 'boolean', help: 'every session, not only the newest' },
    limit: { type: 'count', short: 'n', value: 'N', help: `how many of the newest (${defaultLimit})` },
    workspace: {
      type: 'string',
      value: 'DIR',
      help: 'only sessions of this workspace; . is the current one',
    },
    tool: { type: 'string', value: 'NAME', help: 'only sessions of this program' },
    state: { type: 'string', choices: sessionStates, help: 'only sessions in this state' },
    ...storeOption,
  },
  examples: [
    ['stint sessions list', 'the newest 20'],
    ['stint sessions list -n 3', 'the newest three'],
    ['stint sessions list --workspace . --state crashed', 'sessions that crashed here'],
    ['stint sessions list --all --json', 'everything, for scripts'],
  ],
  async run(context, { options }) {
    const { all, limit, workspace, tool, state } = options
    if (all && limit !== undefined) throw new StintError('ARG_ERROR', '--all and --limit exclude each other')
    const store = await openStore(options.store, context.warn)
    const filter = { tool, workspace: workspace === undefined ? undefined : findWorkspace(workspace).path }
    const found = await showWork('reading', context, () => store.list(filter))
    const wanted = found.filter((each) => state === undefined || each.state === state)
    const shown = all ? wanted : wanted.slice(0, limit ?? defaultLimit)
    return { sessions: shown.map(describeSession), total: wanted.length }
  },
  render: ({ sessions, total }, { columns }) => renderList(sessions, total, columns),
})

function renderList(sessions: readonly SessionDescription[], total: number, width: number): string {
  if (total === 0) return 'no sessions'
  const rest = total - sessions.length
  return [
    ...table(sessions, sessionColumns(Date.now()), width),
    ...(rest > 0 ? [`${plural(rest, 'older one', 'older ones')}: --all shows them`] : []),
  ].join('\n')
}
