import { type AgentName, hosts } from '../hook/hosts.ts'
import { type Place, settingsPath } from './place.ts'
import type { Target } from './target.ts'

/** git is no agent: its hooks are installed where somebody asks for it by name. */
export type Agent = Exclude<AgentName, 'git'>

export const allAgents = Object.keys(hosts).filter((name): name is Agent => name !== 'git')

export const allPlaces: readonly Place[] = ['user', 'project', 'local']

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
