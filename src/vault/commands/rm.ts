import { StintError } from '../../base/errors/stint-error.ts'
import { formatBytes } from '../../base/text/size.ts'
import { confirm } from '../../cli/terminal/confirm.ts'
import { plural } from '../../cli/text/format.ts'
import { defineBareCommand } from '../../command/define-command.ts'
import { listConversations, removeConversation } from '../index.ts'
import { agentOption, findConversation, vaultHere } from './find.ts'

export const vaultRmCommand = defineBareCommand({
  name: 'rm',
  summary:
    'Removes conversations from the vault for good, and does not copy them again. What the agent has stays.',
  options: {
    ...agentOption,
    'older-than': { type: 'duration', value: 'D', help: 'all that were not continued for D, such as 90d' },
    yes: { type: 'boolean', help: 'do not ask' },
  },
  positionals: '[ID]',
  examples: [
    ['stint vault rm 3f6c', 'one of them; asks first'],
    ['stint vault rm --older-than 1w --agent gemini --yes', 'old ones of an agent'],
  ],
  async run({ signal }, { options: { agent, yes, 'older-than': olderThan }, positionals }) {
    if (positionals.length > 0 === (olderThan !== undefined))
      throw new StintError('ARG_ERROR', 'give one conversation, or --older-than')
    const vault = vaultHere()
    const chosen =
      olderThan === undefined
        ? [findConversation(positionals).found]
        : listConversations(vault, agent && [agent]).filter(({ lastAt }) => lastAt < Date.now() - olderThan)
    const bytes = chosen.reduce((sum, each) => sum + each.bytes, 0)
    const lost = chosen.filter(({ lostAfter }) => lostAfter !== undefined).length
    const only = lost === 0 ? '' : `, ${lost} of which only the vault has`
    const question = `Remove ${plural(chosen.length, 'conversation')} (${formatBytes(bytes)}${only}) for good?`
    if (chosen.length > 0) await confirm(yes, 'removing conversations', question)
    for (const each of chosen) {
      signal.throwIfAborted()
      await removeConversation(vault, each)
    }
    return { removed: chosen.map(({ agent, id }) => ({ agent, id })), bytes }
  },
  render: ({ removed, bytes }) => `removed ${plural(removed.length, 'conversation')}, ${formatBytes(bytes)}`,
})
