import { listNames, matchName } from '../../cli/match-name.ts'
import { StintError } from '../../base/errors/stint-error.ts'
import { ifPossible } from '../../base/errors/if-possible.ts'
import { stintHome } from '../../base/fs/home.ts'
import { visibleText } from '../../base/text/escape.ts'
import {
  type Conversation,
  listConversations,
  readConversationSummary,
  titleOf,
  vaultDirectory,
} from '../index.ts'

/** The option of commands that are about the conversations of one agent. */
export const agentOption = {
  agent: {
    type: 'string',
    choices: ['claude', 'codex', 'gemini', 'qwen', 'copilot', 'opencode'],
    help: 'only those of this agent',
  },
} as const

/** The vault of this user, which may not exist yet. */
export const vaultHere = (): string => vaultDirectory(stintHome())

/** The conversation that a name means: its id, the beginning of it, its agent, or `.`. */
export function findConversation(names: readonly string[]): { found: Conversation; isExact: boolean } {
  const [name, extra] = names
  if (name === undefined || extra !== undefined)
    throw new StintError('ARG_ERROR', 'give exactly one conversation', {
      hint: 'Give its id, the beginning of it, its agent, or . for the newest one here; `stint vault list` shows all.',
    })
  const here = name === '.' ? ifPossible(() => process.cwd()) : undefined
  const byTitle = listConversations(vaultHere()).map((each) => ({
    each,
    id: each.id,
    agent: titleOf(each.agent),
    isHere: here !== undefined && readConversationSummary(each).workspace === here,
  }))
  const { items, isExact } = matchName(name, byTitle)
  const [first, second] = items
  const isNewest = name === '.' || items.every(({ id }) => !id.startsWith(name))
  if (first !== undefined && (second === undefined || isNewest)) return { found: first.each, isExact }
  if (second !== undefined)
    throw new StintError('ARG_ERROR', `${visibleText(name, 140)} means several conversations`, {
      hint: `Give more of the id: ${listNames(items.map(({ id }) => id))}`,
    })
  throw new StintError('NOT_FOUND', `no conversation ${visibleText(name, 140)} in the vault`, {
    hint: '`stint vault list` shows those that there are, and `stint vault sync` copies new ones.',
  })
}
