import { visibleText } from '../../base/text/escape.ts'
import { formatBytes } from '../../base/text/size.ts'
import { formatAge, formatTime, plural, shortPath, utcOption, type Zone } from '../../cli/text/format.ts'
import { type Column, table } from '../../cli/text/table.ts'
import { ifPossible } from '../../base/errors/if-possible.ts'
import { defineBareCommand } from '../../command/define-command.ts'
import { findWorkspace } from '../../lease/index.ts'
import { registerEnvironmentSecrets } from '../../secrets/index.ts'
import {
  type Conversation,
  freePercent,
  listConversations,
  readConversationSummary,
  surveyVault,
  titleOf,
} from '../index.ts'
import { agentOption, vaultHere } from './find.ts'

const defaultLimit = 20

export const vaultListCommand = defineBareCommand({
  name: 'list',
  summary:
    'The newest conversations in the vault: what they were about, their size, and whether their agent still has them.',
  options: {
    ...agentOption,
    lost: { type: 'boolean', help: 'only those that their agent has lost' },
    workspace: { type: 'string', value: 'DIR', help: 'only those of this workspace; . is the current one' },
    all: { type: 'boolean', help: 'every conversation, not only the first ones' },
    limit: { type: 'count', short: 'n', value: 'N', help: `how many (${defaultLimit})` },
    ...utcOption,
  },
  examples: [
    ['stint vault list', 'the newest 20'],
    ['stint vault list --agent claude --lost', 'what Claude Code has deleted'],
  ],
  run(_, { options: { agent, lost, workspace, all, limit = defaultLimit } }) {
    const directory = workspace === undefined ? undefined : findWorkspace(workspace).path
    const { gate } = registerEnvironmentSecrets()
    const found = listConversations(vaultHere(), agent && [agent])
      .filter((each) => !lost || each.lostAfter !== undefined)
      .filter((each) => directory === undefined || readConversationSummary(each).workspace === directory)
    const shown = all ? found : found.slice(0, limit)
    return { conversations: shown.map((each) => describeConversation(each, gate)), total: found.length }
  },
  render({ conversations, total }, { columns }, { options }) {
    if (total === 0) return 'no conversations; `stint vault sync` copies them'
    const rest = total - conversations.length
    return [
      ...table(conversations, columnsAt(Date.now(), options), columns),
      ...(rest > 0 ? [`${plural(rest, 'older one', 'older ones')}: --all shows them`] : []),
    ].join('\n')
  },
})

/** A conversation as JSON answers show it. */
export function describeConversation(each: Conversation, gate: { text: (text: string) => string }) {
  const { title, workspace } = readConversationSummary(each)
  return {
    agent: each.agent,
    id: each.id,
    title: title === undefined ? null : gate.text(title).slice(0, 200),
    workspace: workspace ?? null,
    files: each.files,
    bytes: each.bytes,
    generations: each.generations,
    last_at: each.lastAt,
    source: each.source,
    lost_after: each.lostAfter ?? null,
    due_at: each.dueAt ?? null,
  }
}

type Described = ReturnType<typeof describeConversation>

const columnsAt = (now: number, zone: Zone): Column<Described>[] => [
  { title: 'AGENT', cell: ({ agent }) => titleOf(agent) },
  { title: 'ID', cell: ({ id }) => id, cut: 'middle', least: 9 },
  { title: 'AGE', cell: ({ last_at }) => formatAge(Math.max(0, now - last_at)), align: 'right', spare: 3 },
  { title: 'SIZE', cell: ({ bytes }) => formatBytes(bytes), align: 'right', spare: 2 },
  { title: 'STATE', cell: (each) => stateOf(each, zone) },
  {
    title: 'WORKSPACE',
    cell: ({ workspace }) => shortPath(workspace ?? ''),
    cut: 'middle',
    least: 10,
    spare: 1,
  },
  { title: 'TITLE', cell: ({ title }) => visibleText(title ?? '', 200), cut: 'end', least: 12 },
]

/** `last there 2026-11-01`: only the vault has it; `deleted 2026-12-01`: its agent will delete it then. */
function stateOf({ lost_after, due_at }: Described, zone: Zone): string {
  const day = (at: number): string => formatTime(at, zone).slice(0, 10)
  if (lost_after !== null) return `lost, last there ${day(lost_after)}`
  return due_at === null ? '' : `due ${day(due_at)}`
}

const soonMs = 7 * 86_400_000

export const vaultStatusCommand = defineBareCommand({
  name: 'status',
  summary:
    'What the vault has of each agent, what is not in it yet, what is due for deletion, and what is lost.',
  options: utcOption,
  examples: [['stint vault status', 'one screen']],
  run() {
    const vault = vaultHere()
    const free = ifPossible(() => freePercent(vault))
    return {
      vault,
      ...surveyVault(vault, Date.now() + soonMs),
      free_percent: free === undefined ? null : Math.floor(free),
    }
  },
  render({ vault, agents, excluded, not_covered, free_percent }, { columns }, { options }) {
    return [
      ...table(agents, surveyColumns(options), columns),
      ...(agents.every(({ synced_at }) => synced_at === null)
        ? ['nothing is kept; `stint vault sync` does']
        : []),
      ...(free_percent !== null && free_percent < 5
        ? [`only ${free_percent} % of the disk is free: nothing is copied`]
        : []),
      ...(excluded.length > 0 ? [`excluded: ${excluded.map((each) => shortPath(each)).join(', ')}`] : []),
      ...not_covered.map((agent) => `not covered: ${agent}, which has a database of its own`),
      `in ${shortPath(vault)}`,
    ].join('\n')
  },
})

type Survey = ReturnType<typeof surveyVault>['agents'][number]

const surveyColumns = (zone: Zone): Column<Survey>[] => [
  { title: 'AGENT', cell: ({ agent }) => titleOf(agent) },
  { title: 'KEPT', cell: ({ kept }) => kept, align: 'right' },
  { title: 'SIZE', cell: ({ bytes }) => formatBytes(bytes), align: 'right' },
  { title: 'NOT YET', cell: ({ new: count }) => count || '', align: 'right' },
  { title: 'DUE IN 7d', cell: ({ due }) => due || '', align: 'right' },
  { title: 'ONLY HERE', cell: ({ lost }) => lost || '', align: 'right' },
  { title: 'GONE', cell: ({ gone }) => gone || '', align: 'right' },
  { title: 'SYNCED', cell: ({ synced_at }) => (synced_at === null ? 'never' : formatTime(synced_at, zone)) },
]
