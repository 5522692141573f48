import { stintHome } from '../../base/fs/home.ts'
import { defineBareCommand } from '../../command/define-command.ts'
import { readSessionLog, type SessionLogLine } from '../../session/index.ts'
import { formatTime, utcOption, type Zone } from '../text/format.ts'
import { type Column, table } from '../text/table.ts'

const defaultLines = 20

export const sessionsHistoryCommand = defineBareCommand({
  name: 'history',
  summary:
    'Which sessions were removed, restored, closed or unlocked by a command, when and by whom; newest last.',
  options: {
    lines: { type: 'count', short: 'n', value: 'N', help: `how many of the newest (${defaultLines})` },
    since: { type: 'duration', value: 'D', help: 'only what happened in this time' },
    ...utcOption,
  },
  examples: [
    ['stint sessions history', 'the last 20'],
    ['stint sessions history --since 30d -n 1000 --json', 'for scripts'],
  ],
  async run(_, { options }) {
    const { lines = defaultLines, since } = options
    const from = since === undefined ? 0 : Date.now() - since
    const found = readSessionLog(stintHome()).filter(({ at }) => at >= from)
    return { lines: lines === 0 ? [] : found.slice(-lines), total: found.length }
  },
  render: ({ lines, total }, { columns }, { options }) =>
    total === 0
      ? 'no session was removed, restored, closed or unlocked by a command'
      : table(lines, columnsIn(options), columns).join('\n'),
})

const columnsIn = (zone: Zone): Column<SessionLogLine>[] => [
  { title: 'TIME', cell: ({ at }) => formatTime(at, zone) },
  { title: 'ACTION', cell: ({ action }) => action },
  { title: 'SESSION', cell: ({ session_id }) => session_id, cut: 'middle', least: 13 },
  { title: 'BY', cell: ({ by }) => by, cut: 'end', least: 6, spare: 2 },
  { title: 'COMMAND', cell: ({ command }) => command, cut: 'end', least: 12, spare: 1 },
  { title: 'TITLE', cell: ({ title }) => title ?? '', cut: 'end', least: 14 },
]
