import { type Agent, allAgents } from './agent.ts'
import { settingsPath } from './agent-home.ts'
import { allPlaces, type Place } from './place.ts'
import type { Target } from './target.ts'

/** Where agents could have hooks, each in every place it has. Without git, which would have to be asked. */
export const agentTargets = (workspace: string): Target[] =>
  allAgents.flatMap((agent) =>
    allPlaces.flatMap((place) => {
      const path = settingsPath(agent, place, workspace)
      return path === undefined ? [] : [agentTarget(agent, place, path)]
    }),
  )

export const agentTarget = (agent: Agent, place: Place, path: string): Target =>
  agent === 'opencode' ? { kind: 'plugin', agent, place, path } : { kind: 'settings', agent, place, path }
