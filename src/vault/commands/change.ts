import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { StintError } from '../../base/errors/stint-error.ts'
import { visibleText } from '../../base/text/escape.ts'
import { formatBytes } from '../../base/text/size.ts'
import { confirm } from '../../cli/terminal/print.ts'
import { showWork } from '../../cli/terminal/progress.ts'
import { plural, shortPath } from '../../cli/text/format.ts'
import { defineBareCommand } from '../../command/define-command.ts'
import { LivingSessions } from '../../agents/index.ts'
import {
  changeExclusions,
  type Conversation,
  isVaultAgent,
  listConversations,
  openVault,
  removeConversation,
  restoreConversation,
  syncVault,
  vaultAgents,
  vaultDirectory,
} from '../index.ts'
import { agentOption, findConversation } from './list.ts'

/** How many paths that were not read a sync names. */
const shownPaths = 5

export const vaultSyncCommand = defineBareCommand({
  name: 'sync',
  summary:
    'Copies what is new in the conversations of all agents. What is excluded stays so until it is included.',
  options: {
    ...agentOption,
    exclude: {
      type: 'strings',
      value: 'WHAT',
      help: 'an agent, or a directory whose conversations are not copied from now on',
    },
    include: { type: 'strings', value: 'WHAT', help: 'an agent, directory or AGENT/ID that is copied again' },
  },
  examples: [
    ['stint vault sync', 'everything that is new'],
    ['stint vault sync --exclude ~/private --exclude gemini', 'nothing of these, from now on'],
    ['stint vault sync --include claude/3f6c8a52-0e1d-4f7a-9b1c-2d3e4f5a6b7c', 'one that was removed'],
  ],
  async run(context, { options: { agent, exclude, include } }) {
    const vault = openVault()
    if (exclude.length + include.length > 0)
      await changeExclusions(vault, { add: exclude.map(exclusionOf), remove: include.map(exclusionOf) })
    return await showWork('copying', context, (update) =>
      syncVault(vault, {
        agents: agent && [agent],
        signal: context.signal,
        onProgress: (done, total, bytes) => update({ count: { done, total }, bytes }),
      }),
    )
  },
  render({ conversations, copied, bytes, excluded, unread }) {
    const rows = unread.slice(0, shownPaths).map(({ path, error }) => `  ${shortPath(path)} (${error})`)
    return [
      `${plural(conversations, 'conversation')}: ${copied} had something new, ${formatBytes(bytes)} copied`,
      ...(excluded > 0 ? [`${excluded} excluded`] : []),
      ...(unread.length > 0 ? [`${plural(unread.length, 'path')} not read:`, ...rows] : []),
      ...(unread.length > rows.length ? ['  …'] : []),
    ].join('\n')
  },
})

/** An agent and a conversation (`claude/3f6c…`) stay as they are; anything else is a directory. */
function exclusionOf(what: string): string {
  if (isVaultAgent(what.split('/')[0] ?? '')) return what
  if (!what.includes('/') && !existsSync(what))
    throw new StintError('ARG_ERROR', `${visibleText(what, 140)} is neither an agent nor a directory`, {
      hint: `Agents are ${vaultAgents.join(', ')}; write a directory with a slash.`,
    })
  return resolve(what)
}

export const vaultRestoreCommand = defineBareCommand({
  name: 'restore',
  summary:
    'Puts a conversation back where its agent looks for it, byte by byte, and says how to continue it.',
  options: {
    to: { type: 'string', value: 'DIR', help: 'write its files below this directory instead' },
    replace: { type: 'boolean', help: 'replace the copy that the agent has, which the vault keeps' },
    generation: { type: 'count', value: 'N', help: 'as it was before it was rewritten (the newest)' },
  },
  positionals: 'ID',
  examples: [
    ['stint vault restore 3f6c', 'then continue it with the command that is printed'],
    ['stint vault restore 3f6c --to /tmp/conversation', 'its files, anywhere'],
    ['stint vault restore 3f6c --generation 1 --replace', 'before it was rewritten'],
  ],
  async run(_, { options: { to, replace, generation }, positionals }) {
    const conversation = findConversation(positionals)
    const { agent, id } = conversation
    if (to === undefined) assertClosed(conversation)
    const options = { to: to === undefined ? undefined : resolve(to), replace, generation }
    return { agent, id, ...(await restoreConversation(conversation, options)) }
  },
  render({ paths, bytes, resume }) {
    const [main = ''] = paths
    const what = `${plural(paths.length, 'file')}, ${formatBytes(bytes)}: ${shortPath(main)}`
    return resume === null ? what : `${what}\nContinue it with: ${resume}`
  },
})

/** Throws if a process has the conversation open: it would write on where the files were. */
function assertClosed({ id, record }: Conversation): void {
  const sources = record.newest.map(({ source }) => source)
  const pid = new LivingSessions().processOf(id, sources)
  if (pid === undefined) return
  throw new StintError('SESSION_LOCKED', `that conversation is open in process ${pid}`, {
    detail: `pid=${pid}`,
    hint: 'Close it first, or write the files elsewhere: --to DIR',
  })
}

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
      throw new StintError('ARG_ERROR', 'give one conversation, or --older-than', {
        hint: '`stint vault list` shows the conversations.',
      })
    const vault = vaultDirectory()
    const chosen =
      olderThan === undefined
        ? [findConversation(positionals)]
        : listConversations(vault, agent && [agent]).filter(({ last_at }) => last_at < Date.now() - olderThan)
    const bytes = chosen.reduce((sum, each) => sum + each.bytes, 0)
    const lost = chosen.filter(({ lost_after }) => lost_after !== null).length
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
