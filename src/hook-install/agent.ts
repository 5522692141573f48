import { type AgentName, hosts } from '../hook/hosts.ts'

/** git is no agent: its hooks are installed where somebody asks for it by name. */
export type Agent = Exclude<AgentName, 'git'>

/** The agents that keep their hooks in a JSON file. OpenCode has a plugin. */
export type SettingsAgent = Exclude<Agent, 'opencode'>

export const allAgents = Object.keys(hosts).filter((name): name is Agent => name !== 'git')
