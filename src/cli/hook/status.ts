import { defineBareCommand } from '../../command/define-command.ts'
import { type Installation, inspect } from '../../hook-install/inspect.ts'
import { isFound } from '../../hook-install/agent-home.ts'
import { allAgents } from '../../hook-install/agent.ts'
import { targetsToLookAt } from '../../hook-install/target.ts'
import { findWorkspace } from '../../lease/index.ts'
import { visibleText } from '../../base/text/escape.ts'
import { titleOf } from './agent-title.ts'
import { agentPositionals, placeOptions, readAgents, readPlace } from './options.ts'

interface StatusData {
  hooks: Installation[]
  /** Agents that the user has, and that have no hook. */
  without: string[]
}

export const statusCommand = defineBareCommand({
  name: 'status',
  summary: 'Shows where hooks are installed, and with which options. `stint hook doctor` tries them.',
  positionals: agentPositionals,
  options: placeOptions,
  examples: [['stint hook status', 'all that can be seen from here']],
  run(_, { options, positionals }): StatusData {
    const agents = readAgents(positionals)
    const targets = targetsToLookAt(agents, readPlace(options), findWorkspace().path)
    const hooks = targets.map(inspect).filter(({ state }) => state !== 'absent')
    const has = new Set(hooks.map(({ agent }) => agent))
    const asked = agents.length === 0 ? allAgents.filter((agent) => isFound(agent)) : agents
    return { hooks, without: asked.filter((agent) => !has.has(agent)) }
  },
  render: ({ hooks, without }) =>
    [
      ...hooks.map(renderInstallation),
      ...without.map((agent) => `${titleOf(agent)}: no hooks (\`stint hook install ${agent}\`)`),
    ].join('\n') || 'no agent was found here, and no hooks',
})

function renderInstallation({ agent, path, state, problem, choices }: Installation): string {
  const chosen = [
    choices.scope && `scope ${choices.scope}`,
    choices.hold && `hold ${choices.hold}`,
    choices.failClosed && 'fails closed',
    choices.record && 'records',
  ].filter(Boolean)
  const how = chosen.length === 0 ? '' : ` (${chosen.join(', ')})`
  const what = state === 'installed' ? `installed${how}` : state
  return `${titleOf(agent)}: ${what}, ${visibleText(path)}${problem === undefined ? '' : `\n  ${visibleText(problem)}`}`
}
