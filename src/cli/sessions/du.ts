import { join } from 'node:path'
import type { OptionTable } from '../../command/option.ts'
import { defineBareCommand } from '../../command/define-command.ts'
import { nodeDisk } from '../../base/fs/disk.ts'
import { withHomeErrors, stintHome } from '../../base/fs/home.ts'
import { measureTree } from '../../base/fs/measure-tree.ts'
import { formatBytes } from '../../base/text/size.ts'
import { type DiskUse, diskUseOf, useKinds } from '../../session/files/disk-use.ts'
import { sessionIdsIn } from '../../session/files/find-session.ts'
import { plural } from '../text/format.ts'
import { table } from '../text/table.ts'
import { openFiles, sessionsDirectory } from './open-sessions.ts'

const defaultLimit = 20

const options = {
  all: { type: 'boolean', help: `every session, not only the ${defaultLimit} largest` },
} as const satisfies OptionTable

export const duCommand = defineBareCommand({
  name: 'du',
  summary:
    'How much disk space sessions take, the largest first, by kind. What a fork shares with its original counts once.',
  options,
  examples: [
    ['stint sessions du', 'what fills the disk'],
    ['stint sessions du --all --json', 'for scripts'],
  ],
  run(_, { options }) {
    openFiles('du')
    const home = stintHome()
    const sessions = sessionsDirectory()
    const seen = new Set<string>()
    const uses = withHomeErrors(home, `read ${sessions}`, () =>
      sessionIdsIn(nodeDisk, sessions).map((id) => diskUseOf(join(sessions, id), id, seen)),
    )
    uses.sort((a, b) => b.bytes - a.bytes || (a.session_id < b.session_id ? -1 : 1))
    const sum = (of: (use: DiskUse) => number): number => uses.reduce((total, use) => total + of(use), 0)
    return {
      sessions: options.all ? uses : uses.slice(0, defaultLimit),
      total: {
        sessions: uses.length,
        bytes: sum(({ bytes }) => bytes),
        ...Object.fromEntries(useKinds.map((kind) => [kind, sum((use) => use[kind])])),
      },
      trash_bytes: measureTree(join(home, 'trash')),
    }
  },
  render({ sessions, total, trash_bytes }) {
    const size = (bytes: number): string => (bytes === 0 ? '' : formatBytes(bytes))
    const titles = ['>SIZE', ...useKinds.map((kind) => `>${kind.toUpperCase()}`), 'ID']
    const rows = sessions.map((use) => [
      formatBytes(use.bytes),
      ...useKinds.map((kind) => size(use[kind])),
      use.session_id,
    ])
    const rest = total.sessions - sessions.length
    return [
      ...(rows.length === 0 ? [] : table(titles, rows)),
      ...(rest > 0 ? [`${rest} smaller: --all shows them`] : []),
      `${plural(total.sessions, 'session')}, ${formatBytes(total.bytes)}; in the trash ${formatBytes(trash_bytes)}`,
    ].join('\n')
  },
})
