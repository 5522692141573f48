import { errorCode, errorMessage, StintError } from '../../base/errors/stint-error.ts'
import { isTerminal } from '../../base/process/terminal.ts'
import { visibleAnswer, visibleJson, visibleLines, visibleText } from '../../base/text/escape.ts'
import { print, printLines } from '../../cli/terminal/print.ts'
import { showWork } from '../../cli/terminal/progress.ts'
import { formatTime, plural, utcOption, type Zone } from '../../cli/text/format.ts'
import { type Column, table } from '../../cli/text/table.ts'
import { defineBareCommand } from '../../command/define-command.ts'
import { giveWay } from '../../base/process/event-loop.ts'
import { agentTitle } from '../../hooks/index.ts'
import { registerEnvironmentSecrets } from '../../secrets/index.ts'
import {
  type Conversation,
  type Entry,
  linesOf,
  listConversations,
  rawBytes,
  readEntries,
  vaultDirectory,
} from '../index.ts'
import { agentOption, findConversation } from './list.ts'

/** How much of the arguments and the output of a tool is shown; `--json` has all of it. */
const toolChars = 400

export const vaultShowCommand = defineBareCommand({
  name: 'show',
  summary:
    'A conversation as it can be read: who said what, and which tools were called. Tokens and secrets are masked.',
  options: {
    raw: { type: 'boolean', help: 'the bytes of the transcript, as they are: secrets included' },
    file: { type: 'string', value: 'NAME', help: 'another file of it, such as that of a subagent' },
    ...utcOption,
  },
  positionals: 'ID',
  envelope: 'on-request',
  stream: true,
  examples: [
    ['stint vault show 3f6c', 'read it'],
    ['stint vault show claude --raw | jq -c .type', 'the newest of an agent, as it is'],
    ['stint vault show 3f6c --json', 'one JSON object an entry'],
  ],
  async run({ json }, { options, positionals }) {
    const { agent, record } = findConversation(positionals)
    if (options.raw) {
      const onTerminal = await isTerminal(1)
      for (const bytes of rawBytes(record, options.file))
        if (!print(onTerminal ? visibleAnswer(bytes.toString()) : bytes)) return
      return
    }
    const { gate } = registerEnvironmentSecrets()
    const entries = readEntries(record, agent, options.file)
    const shown = async function* (): AsyncGenerator<string> {
      for (const entry of entries) {
        const masked = { ...entry, text: gate.text(entry.text) }
        yield json ? visibleJson(masked) : renderEntry(masked, options)
      }
    }
    if (!(await printLines(shown()))) throw new StintError('CANCELLED', 'the reader is gone')
  },
})

function renderEntry({ at, who, tool, text }: Entry, zone: Zone): string {
  const time = at === undefined ? '' : `${formatTime(at, zone)}  `
  const name = tool === undefined ? who : `${who} calls ${visibleText(tool, 100)}`
  const isCut = (who === 'tool' || tool !== undefined) && text.length > toolChars
  const shown = isCut ? `${text.slice(0, toolChars)}… [+${text.length - toolChars}]` : text
  return `${time}${name}\n${visibleLines(shown).replace(/^/gm, '  ')}\n`
}

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
    const chosen =
      positionals.length === 0
        ? listConversations(vaultDirectory(), agent && [agent])
        : [findConversation(positionals)]
    const secrets: SecretPlace[] = []
    await showWork('scanning', context, async (update) => {
      for (const [index, conversation] of chosen.entries()) {
        secrets.push(...(await scanConversation(conversation, context.warn)))
        update({ count: { done: index + 1, total: chosen.length } })
      }
    })
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

/** Finds tokens, and values of the environment, in a conversation; `kind` names them. */
async function scanConversation({ agent, id, record }: Conversation, warn: (message: string) => void) {
  const { gate } = registerEnvironmentSecrets()
  const places: { agent: string; id: string; file: string; line: number; kind: string }[] = []
  try {
    for (const { file, number: line, text } of linesOf(record)) {
      await giveWay()
      for (const kind of new Set(gate.kindsIn(text))) places.push({ agent, id, file, line, kind })
    }
  } catch (error) {
    if (errorCode(error) !== 'VAULT_DAMAGED') throw error
    warn(errorMessage(error))
  }
  return places
}

type SecretPlace = Awaited<ReturnType<typeof scanConversation>>[number]

const columnsOfScan: Column<SecretPlace>[] = [
  { title: 'AGENT', cell: ({ agent }) => agentTitle(agent) },
  { title: 'ID', cell: ({ id }) => id, cut: 'middle', least: 9 },
  { title: 'FILE', cell: ({ file }) => file, cut: 'middle', least: 12 },
  { title: 'LINE', cell: ({ line }) => line, align: 'right' },
  { title: 'KIND', cell: ({ kind }) => kind },
]
