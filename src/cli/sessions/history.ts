import { stintHome } from '../../base/fs/home.ts'
import { visibleText } from '../../base/text/escape.ts'
import { defineBareCommand } from '../../command/define-command.ts'
import { readSessionLog } from '../../session/index.ts'
import { formatTime } from '../text/format.ts'
import { cell, table } from '../text/table.ts'

const defaultLines = 20

export const sessionsHistoryCommand = defineBareCommand({
  name: 'history',
  summary: 'Which sessions were removed, restored or closed by a command, when and by whom; newest last.',
  options: {
    lines: { type: 'count', short: 'n', value: 'N', help: `how many of the newest (${defaultLines})` },
    since: { type: 'duration', value: 'D', help: 'only what happened in this time' },
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
  render: ({ lines, total }) =>
    total === 0
      ? 'no session was removed, restored or closed by a command'
      : table(
          ['TIME', 'ACTION', 'SESSION', 'BY', 'COMMAND', 'TITLE'],
          lines.map(({ at, action, session_id, by, command, title }) => [
            formatTime(at),
            visibleText(action),
            visibleText(session_id),
            cell(by, 16),
            cell(command, 32),
            cell(title ?? '', 30),
          ]),
        ).join('\n'),
})
