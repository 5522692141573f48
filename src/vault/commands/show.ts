import { join } from 'node:path'
import { StintError } from '../../base/errors/stint-error.ts'
import { visibleAnswer, visibleJson, visibleLines, visibleText } from '../../base/text/escape.ts'
import { print, printLines } from '../../cli/terminal/print.ts'
import { formatTime, utcOption, type Zone } from '../../cli/text/format.ts'
import { isTerminal } from '../../base/process/terminal.ts'
import { defineBareCommand } from '../../command/define-command.ts'
import { registerEnvironmentSecrets } from '../../secrets/index.ts'
import { type Entry, rawBytes, readEntries } from '../index.ts'
import { findConversation, vaultHere } from './find.ts'

/** How much of the arguments and the output of a tool is shown. */
const toolChars = 400

export const vaultShowCommand = defineBareCommand({
  name: 'show',
  summary:
    'A conversation as it can be read: who said what, and which tools were called. Tokens and secrets are masked.',
  options: {
    raw: { type: 'boolean', help: 'the bytes of the transcript, as they are: secrets included' },
    file: { type: 'string', value: 'NAME', help: 'another file of it, such as that of a subagent' },
    full: { type: 'boolean', help: `all of what tools got and returned, not only ${toolChars} characters` },
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
    const { agent, id } = findConversation(positionals).found
    const directory = join(vaultHere(), agent, id)
    if (options.raw) {
      const onTerminal = await isTerminal(1)
      for (const bytes of rawBytes(directory, options.file))
        if (!print(onTerminal ? visibleAnswer(bytes.toString()) : bytes)) return
      return
    }
    const { gate } = registerEnvironmentSecrets()
    const entries = readEntries(directory, agent, options.file)
    const shown = async function* (): AsyncGenerator<string> {
      for (const entry of entries) {
        const masked = { ...entry, text: gate.text(entry.text) }
        yield json ? visibleJson(masked) : renderEntry(masked, options.full, options)
      }
    }
    if (!(await printLines(shown()))) throw new StintError('CANCELLED', 'the reader is gone')
  },
})

function renderEntry({ at, who, tool, text }: Entry, isFull: boolean, zone: Zone): string {
  const time = at === undefined ? '' : `${formatTime(at, zone)}  `
  const name = tool === undefined ? who : `${who} calls ${visibleText(tool, 100)}`
  const isLong = !isFull && (who === 'tool' || tool !== undefined)
  const shown =
    isLong && text.length > toolChars ? `${text.slice(0, toolChars)}… [+${text.length - toolChars}]` : text
  return `${time}${name}\n${visibleLines(shown).replace(/^/gm, '  ')}\n`
}
