import { isWithin } from '../../base/fs/paths.ts'
import { visibleText } from '../../base/text/escape.ts'
import { formatBytes } from '../../base/text/size.ts'
import { formatAge, formatTime, plural, shortPath, utcOption, type Zone } from '../../cli/text/format.ts'
import { listNames, matchName } from '../../cli/match-name.ts'
import { type Column, table } from '../../cli/text/table.ts'
import { ifPossible } from '../../base/errors/if-possible.ts'
import { StintError } from '../../base/errors/stint-error.ts'
import { defineBareCommand } from '../../command/define-command.ts'
import { workspacePath } from '../../lease/index.ts'
import { agentTitle } from '../../hooks/index.ts'
import {
  type Conversation,
  describeConversation,
  freePercent,
  listConversations,
  readConversationSummary,
  surveyVault,
  vaultAgents,
  vaultDirectory,
} from '../index.ts'

/** The option of commands that are about the conversations of one agent. */
export const agentOption = {
  agent: { type: 'string', choices: vaultAgents, help: 'only those of this agent' },
} as const

/** The conversation that a name means: its id, the beginning of it, its agent, or `.`. */
export function findConversation([name = '']: readonly string[]): Conversation {
  const here = name === '.' ? ifPossible(() => process.cwd()) : undefined
  const candidates = listConversations(vaultDirectory()).map((conversation) => ({
    conversation,
    id: conversation.id,
    agent: agentTitle(conversation.agent),
    isHere: here !== undefined && readConversationSummary(conversation).workspace === here,
  }))
  const { items } = matchName(name, candidates)
  const [first, second] = items
  const isAgent = items.every(({ agent }) => `${agent} `.toLowerCase().startsWith(`${name} `.toLowerCase()))
  const isNewest = name === '.' || isAgent
  if (first !== undefined && (second === undefined || isNewest)) return first.conversation
  if (second !== undefined)
    throw new StintError('ARG_ERROR', `${visibleText(name, 140)} means several conversations`, {
      hint: `Give more of the id: ${listNames(items.map(({ id }) => id))}`,
    })
  throw new StintError('NOT_FOUND', `no conversation ${visibleText(name, 140)} in the vault`, {
    hint: '`stint vault list` shows those that there are, and `stint vault sync` copies new ones.',
  })
}

const shownAtOnce = 20

export const vaultListCommand = defineBareCommand({
  name: 'list',
  summary:
    'The newest conversations in the vault: what they were about, their size, and whether their agent still has them.',
  options: {
    ...agentOption,
    lost: { type: 'boolean', help: 'only those that their agent has lost' },
    workspace: { type: 'string', value: 'DIR', help: 'only those of this workspace; . is the current one' },
    all: { type: 'boolean', help: `every conversation, not only the newest ${shownAtOnce}` },
    ...utcOption,
  },
  examples: [
    ['stint vault list', 'the newest 20'],
    ['stint vault list --agent claude --lost', 'what Claude Code has deleted'],
  ],
  run(_, { options: { agent, lost, workspace, all } }) {
    const directory = workspace === undefined ? undefined : workspacePath(workspace)
    const conversations = listConversations(vaultDirectory(), agent && [agent])
      .filter(({ lost_after }) => !lost || lost_after !== null)
      .filter((each) => !directory || isWithin(readConversationSummary(each).workspace ?? '', directory))
    const shown = all ? conversations : conversations.slice(0, shownAtOnce)
    return { conversations: shown.map(describeConversation), total: conversations.length }
  },
  render({ conversations, total }, { columns }, { options }) {
    if (total === 0) return 'no such conversation in the vault; `stint vault sync` copies those of all agents'
    const rest = total - conversations.length
    return [
      ...table(conversations, columnsAt(Date.now(), options), columns),
      ...(rest > 0 ? [`${plural(rest, 'older one', 'older ones')}: --all shows them`] : []),
    ].join('\n')
  },
})

const columnsAt = (now: number, zone: Zone): Column<ReturnType<typeof describeConversation>>[] => [
  { title: 'AGENT', cell: ({ agent }) => agentTitle(agent) },
  { title: 'ID', cell: ({ id }) => id, cut: 'middle', least: 9 },
  { title: 'AGE', cell: ({ last_at }) => formatAge(Math.max(0, now - last_at)), align: 'right', spare: 3 },
  { title: 'SIZE', cell: ({ bytes }) => formatBytes(bytes), align: 'right', spare: 2 },
  { title: 'STATE', cell: (conversation) => stateOf(conversation, zone) },
  {
    title: 'WORKSPACE',
    cell: ({ workspace }) => shortPath(workspace ?? ''),
    cut: 'middle',
    least: 10,
    spare: 1,
  },
  { title: 'TITLE', cell: ({ title }) => visibleText(title ?? '', 200), cut: 'end', least: 12 },
]

/** `last there 2026-11-01`: only the vault has it; `due 2026-12-01`: its agent will delete it then. */
function stateOf({ lost_after, due_at }: Pick<Conversation, 'lost_after' | 'due_at'>, zone: Zone): string {
  const day = (at: number): string => formatTime(at, zone).slice(0, 10)
  if (lost_after !== null) return `lost, last there ${day(lost_after)}`
  return due_at === null ? '' : `due ${day(due_at)}`
}

export const vaultStatusCommand = defineBareCommand({
  name: 'status',
  summary:
    'What the vault has of each agent, what is not in it yet, what is due for deletion, and what is lost.',
  options: utcOption,
  examples: [['stint vault status', 'one screen']],
  run() {
    const vault = vaultDirectory()
    const free = ifPossible(() => freePercent(vault))
    return {
      vault,
      ...surveyVault(vault),
      free_percent: free === undefined ? null : Math.floor(free),
    }
  },
  render({ vault, agents, excluded, not_covered, free_percent }, { columns }, { options }) {
    return [
      ...table(agents, surveyColumns(options), columns),
      ...(agents.every(({ kept }) => kept === 0)
        ? ['nothing is kept yet: `stint vault sync` copies it']
        : []),
      ...(free_percent !== null && free_percent < 5
        ? [`only ${free_percent} % of the disk is free: nothing is copied`]
        : []),
      ...exclusionLines(excluded),
      ...not_covered.map((agent) => `not covered: ${agent}, which has a database of its own`),
      `in ${shortPath(vault)}`,
    ].join('\n')
  },
})

/** Names agents and directories; the conversations that were removed may be hundreds. */
function exclusionLines(excluded: readonly string[]): string[] {
  const removed = excluded.filter((exclusion) => /^\w+\//.test(exclusion)).length
  const names = excluded.filter((exclusion) => !/^\w+\//.test(exclusion)).map((path) => shortPath(path))
  if (removed > 0) names.push(plural(removed, 'removed conversation'))
  return names.length > 0 ? [`excluded: ${names.join(', ')}`] : []
}

const surveyColumns = (zone: Zone): Column<ReturnType<typeof surveyVault>['agents'][number]>[] => [
  { title: 'AGENT', cell: ({ agent }) => agentTitle(agent) },
  { title: 'KEPT', cell: ({ kept }) => kept, align: 'right' },
  { title: 'SIZE', cell: ({ bytes }) => formatBytes(bytes), align: 'right' },
  { title: 'NOT YET', cell: ({ new: count }) => count || '', align: 'right' },
  { title: 'DUE IN 7d', cell: ({ due }) => due || '', align: 'right' },
  { title: 'ONLY HERE', cell: ({ lost }) => lost || '', align: 'right' },
  { title: 'GONE', cell: ({ gone }) => gone || '', align: 'right' },
  { title: 'SYNCED', cell: ({ synced_at }) => (synced_at === null ? 'never' : formatTime(synced_at, zone)) },
]
