import { plural } from '../../cli/text/format.ts'
import { type Column, table } from '../../cli/text/table.ts'
import { showWork } from '../../cli/terminal/progress.ts'
import { defineBareCommand } from '../../command/define-command.ts'
import { registerEnvironmentSecrets } from '../../secrets/index.ts'
import { type FoundSecret, listConversations, scanVault } from '../index.ts'
import { agentOption, findConversation, vaultHere } from './find.ts'

export const vaultScanCommand = defineBareCommand({
  name: 'scan',
  summary:
    'Reports where conversations contain tokens, or secrets of this environment: the line and the kind, never the value.',
  options: agentOption,
  positionals: '[ID]',
  examples: [
    ['stint vault scan', 'all conversations'],
    ['stint vault scan 3f6c --json', 'one of them, for scripts'],
  ],
  async run(context, { options: { agent }, positionals }) {
    const vault = vaultHere()
    const { gate } = registerEnvironmentSecrets()
    const chosen =
      positionals.length === 0
        ? listConversations(vault, agent && [agent])
        : [findConversation(positionals).found]
    const secrets = await showWork('scanning', context, (update) =>
      scanVault(vault, chosen, gate, (done) => update({ count: { done, total: chosen.length } })),
    )
    return { conversations: chosen.length, secrets }
  },
  render({ conversations, secrets }, { columns }) {
    const affected = new Set(secrets.map(({ id }) => id)).size
    return [
      ...table(secrets, columnsOfScan, columns),
      `${plural(secrets.length, 'secret')} in ${affected} of ${plural(conversations, 'conversation')}`,
    ].join('\n')
  },
})

const columnsOfScan: Column<FoundSecret>[] = [
  { title: 'AGENT', cell: ({ agent }) => agent },
  { title: 'ID', cell: ({ id }) => id, cut: 'middle', least: 9 },
  { title: 'FILE', cell: ({ file }) => file, cut: 'middle', least: 12 },
  { title: 'LINE', cell: ({ line }) => line, align: 'right' },
  { title: 'KIND', cell: ({ kind }) => kind },
]
