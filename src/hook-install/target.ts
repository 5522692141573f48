import { type AgentName, hosts } from '../hook/hosts.ts'
import { StintError } from '../base/errors/stint-error.ts'
import { allAgents, type SettingsAgent } from './agent.ts'
import { isFound, requiredPath, settingsPath } from './agent-home.ts'
import { agentTarget, eachFileOnce } from './agent-targets.ts'
import { hooksDirectory } from './git/hooks-directory.ts'
import { allPlaces, type Place } from './install-scope.ts'

/** One place where hooks can be: a settings file, the hooks of a repository, a plugin's file. */
export type Target =
  | { kind: 'settings'; agent: SettingsAgent; place: Place; path: string }
  | { kind: 'plugin'; agent: 'opencode'; place: Place; path: string }
  | { kind: 'git'; agent: 'git'; place: Place; path: string; tracked: boolean }

/** Where to install: for the named agents, or for every one the user has. */
export function targetsToInstall(
  agents: readonly AgentName[],
  place: Place | undefined,
  workspace: string,
): Target[] {
  if (agents.length > 0) return agents.map((agent) => targetOf(agent, place ?? usual(agent), workspace))
  const found = allAgents.filter((agent) => isFound(agent))
  const targets = found.filter((agent) => settingsPath(agent, place ?? 'user', workspace) !== undefined)
  if (targets.length > 0) return targets.map((agent) => targetOf(agent, place ?? 'user', workspace))
  throw new StintError('NOT_FOUND', 'no agent was found to install hooks for', {
    hint: `Name one: ${Object.keys(hosts).join(', ')}.`,
  })
}

/** A repository's hooks are the repository's; an agent's are its user's. */
const usual = (agent: AgentName): Place => (agent === 'git' ? 'project' : 'user')

/** Everywhere hooks could be, each file once: for the named agents or all, in the place or in each. */
export function targetsToLookAt(
  agents: readonly AgentName[],
  place: Place | undefined,
  workspace: string,
): Target[] {
  const named = agents.length > 0
  const targets = (named ? agents : [...allAgents, 'git' as const]).flatMap((agent) =>
    (place === undefined ? allPlaces : [place]).flatMap((place) => {
      try {
        return [targetOf(agent, place, workspace)]
      } catch (error) {
        // That there is no such place is what is found out here.
        if (error instanceof StintError) return []
        throw error
      }
    }),
  )
  return eachFileOnce(targets)
}

function targetOf(agent: AgentName, place: Place, workspace: string): Target {
  if (agent === 'git') return { kind: 'git', agent, place, ...hooksDirectory(process.cwd(), place) }
  return agentTarget(agent, place, requiredPath(agent, place, workspace))
}
