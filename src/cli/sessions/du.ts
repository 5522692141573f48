import { defineBareCommand } from '../../command/define-command.ts'
import { StintError } from '../../base/errors/stint-error.ts'
import { formatBytes } from '../../base/text/size.ts'
import { type DiskUse, useKinds } from '../../session/index.ts'
import { openStore, storeOption } from '../store.ts'
import { plural } from '../text/format.ts'
import { type Column, table } from '../text/table.ts'

const defaultLimit = 20

export const duCommand = defineBareCommand({
  name: 'du',
  summary:
    'How much disk space sessions take, the largest first, by kind. What a fork shares with its original counts once.',
  options: {
    all: { type: 'boolean', help: `every session, not only the ${defaultLimit} largest` },
    ...storeOption,
  },
  examples: [
    ['stint sessions du', 'what fills the disk'],
    ['stint sessions du --all --json', 'for scripts'],
  ],
  async run({ warn }, { options }) {
    const { driver } = await openStore(options.store, warn)
    const measured = (await driver.diskUse?.()) ?? (await driver.files?.())?.diskUse()
    if (measured === undefined)
      throw new StintError('ARG_ERROR', `sessions of the store ${driver.id} cannot be measured`)
    const { sessions: uses, trashBytes } = measured
    uses.sort((a, b) => b.bytes - a.bytes || (a.session_id < b.session_id ? -1 : 1))
    const sum = (of: (use: DiskUse) => number): number => uses.reduce((total, use) => total + of(use), 0)
    return {
      sessions: options.all ? uses : uses.slice(0, defaultLimit),
      total: {
        sessions: uses.length,
        bytes: sum(({ bytes }) => bytes),
        ...Object.fromEntries(useKinds.map((kind) => [kind, sum((use) => use[kind])])),
      },
      trash_bytes: trashBytes,
    }
  },
  render({ sessions, total, trash_bytes }, { columns }) {
    const size = (bytes: number): string => (bytes === 0 ? '' : formatBytes(bytes))
    const rest = total.sessions - sessions.length
    return [
      ...table(
        sessions,
        [
          { title: 'SIZE', cell: ({ bytes }) => formatBytes(bytes), align: 'right' },
          ...useKinds.map((kind, index): Column<DiskUse> => {
            const title = kind.toUpperCase()
            return { title, cell: (use) => size(use[kind]), align: 'right', spare: useKinds.length - index }
          }),
          { title: 'ID', cell: ({ session_id }) => session_id, cut: 'middle', least: 13 },
        ],
        columns,
      ),
      ...(rest > 0 ? [`${rest} smaller: --all shows them`] : []),
      `${plural(total.sessions, 'session')}, ${formatBytes(total.bytes)}; in the trash ${formatBytes(trash_bytes)}`,
    ].join('\n')
  },
})
