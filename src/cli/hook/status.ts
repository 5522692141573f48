import { defineBareCommand } from '../../command/define-command.ts'
import { doublesOf } from '../../hook-install/doctor/examine.ts'
import { type Installation, inspect, type Problem } from '../../hook-install/inspect.ts'
import { agentTitle } from '../../hook/hosts.ts'
import { allAgents, hasAgent } from '../../hook-install/agents.ts'
import { targetsToInspect } from '../../hook-install/target.ts'
import { findWorkspace } from '../../lease/index.ts'
import { formatDuration } from '../../base/text/duration.ts'
import { visibleText } from '../../base/text/escape.ts'
import { wrap } from '../../base/text/wrap.ts'
import { shortenPaths, shortPath } from '../text/format.ts'
import { type Column, table } from '../text/table.ts'
import { agentPositionals, readAgents, readPlace, placeOptions } from './options.ts'

interface StatusData {
  /** `notes`: what could be better, such as hooks that are installed twice. */
  hooks: (Installation & { notes: Problem[] })[]
  /** The user's agents that have no hooks. */
  without: string[]
}

export const hookStatusCommand = defineBareCommand({
  name: 'status',
  summary: 'Shows where hooks are installed, and with which options. `stint doctor` tries them.',
  positionals: agentPositionals,
  options: placeOptions,
  examples: [['stint hook status', 'all hooks that can be seen from here']],
  run(_, { options, positionals }): StatusData {
    const agents = readAgents(positionals)
    const workspace = findWorkspace().path
    const hooks = targetsToInspect(agents, readPlace(options), workspace)
      .map(inspect)
      .filter(({ state }) => state !== 'absent')
      .map((hook) => ({ ...hook, notes: doublesOf(hook, workspace) }))
    const has = new Set(hooks.map(({ agent }) => agent))
    const asked = agents.length === 0 ? allAgents.filter((agent) => hasAgent(agent)) : agents
    return { hooks, without: asked.filter((agent) => !has.has(agent)) }
  },
  render: ({ hooks, without }, { columns }) =>
    [
      ...table(hooks, installationColumns, columns).flatMap((line, index) => {
        const { problem, notes = [] } = hooks[index - 1] ?? {}
        const remarks = [
          ...(problem === undefined ? [] : [problem]),
          ...notes.map((it) => `${it.problem}; ${it.fix}`),
        ]
        return [
          line,
          ...remarks.flatMap((text) => wrapBelow(shortenPaths(visibleText(text), columns - 2), columns)),
        ]
      }),
      ...without.map((agent) => `${agentTitle(agent)}: no hooks (\`stint hook install ${agent}\`)`),
    ].join('\n') || 'no agents and no hooks were found here',
})

const installationColumns: Column<Installation>[] = [
  { title: 'AGENT', cell: ({ agent }) => agentTitle(agent) },
  { title: 'STATE', cell: ({ state }) => state },
  { title: 'FILE', cell: ({ path }) => shortPath(path), cut: 'middle', least: 20 },
  { title: 'OPTIONS', cell: chosenOptions, cut: 'end', least: 16 },
]

const wrapBelow = (text: string, columns: number): string[] =>
  wrap(text, columns - 2).map((line) => `  ${line}`)

function chosenOptions({ choices }: Installation): string {
  return [
    choices.scope && `scope ${choices.scope}`,
    choices.hold && `hold ${choices.hold}`,
    choices.subagents && `subagents ${choices.subagents}`,
    choices.waitMs !== undefined && `waits ${formatDuration(choices.waitMs)}`,
    choices.backgroundMs !== undefined && `background ${formatDuration(choices.backgroundMs)}`,
    choices.promptHoldMs !== undefined && `prompt hold ${formatDuration(choices.promptHoldMs)}`,
    choices.failClosed && 'fails closed',
    choices.record && 'records',
    choices.handover === false && 'no hand-over',
    choices.prompts === false && 'no prompts',
  ]
    .filter(Boolean)
    .join(', ')
}
