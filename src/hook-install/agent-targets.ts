import { realParentPath } from '../base/fs/paths.ts'
import { type Agent, allAgents } from './agent.ts'
import { settingsPath } from './agent-home.ts'
import { allPlaces, type Place } from './install-scope.ts'
import type { Target } from './target.ts'

/** Where agents could have hooks, each in every place it has, each file once. Without git, which would have to be asked. */
export const agentTargets = (workspace: string): Target[] =>
  eachFileOnce(
    allAgents.flatMap((agent) =>
      allPlaces.flatMap((place) => {
        const path = settingsPath(agent, place, workspace)
        return path === undefined ? [] : [agentTarget(agent, place, path)]
      }),
    ),
  )

/** In the home directory, the settings of the user and those of the project are the same file: it counts as the user's. */
export function eachFileOnce(targets: readonly Target[]): Target[] {
  const places = new Map<string, Target>()
  for (const target of targets) {
    const file = `${target.agent} ${realParentPath(target.path)}`
    if (!places.has(file)) places.set(file, target)
  }
  return [...places.values()]
}

export const agentTarget = (agent: Agent, place: Place, path: string): Target =>
  agent === 'opencode' ? { kind: 'plugin', agent, place, path } : { kind: 'settings', agent, place, path }
