import { findAgents, type InstalledAgent } from '../../agents/index.ts'
import { readCodexTrust, type WrittenTrust } from '../../hooks/install/doctor/codex-trust-file.ts'
import type { StatusData } from './gather.ts'

/** An agent that its user has, and whether it asks stint. */
export interface AgentData extends InstalledAgent {
  /** The state of the hooks in the user's own settings or in those of the project; `absent`: none. */
  hooks: string
  /** Whether the agent runs the hooks that are in: null for agents that ask nobody, and without hooks. */
  trust: WrittenTrust | null
  /** Whether its hooks take restore points. */
  undo: boolean
}

/** Finds the agents of this user; starts none. `hooks` are those that the status has found. */
export const gatherAgents = (workspace: string, hooks: StatusData['hooks']): AgentData[] =>
  findAgents(workspace).map((agent) => {
    const installed = hooks.filter((each) => each.agent === agent.agent)
    const [first] = installed.toSorted(
      (a, b) => Number(b.state === 'installed') - Number(a.state === 'installed'),
    )
    const asksUser = agent.agent === 'codex' && first !== undefined
    return {
      ...agent,
      hooks: first?.state ?? 'absent',
      trust: asksUser ? readCodexTrust(first.path) : null,
      undo: first?.undo ?? false,
    }
  })

/** `Codex 0.166.0`. */
export const agentName = ({ title, version }: Pick<AgentData, 'title' | 'version'>): string =>
  version === null ? title : `${title} ${version}`

/** What a user wants to know about the hooks of an agent. */
export function hooksText({ hooks, trust, undo }: AgentData): string {
  if (hooks === 'absent') return 'no hooks'
  if (hooks !== 'installed') return `hooks ${hooks}`
  if (trust === 'untrusted') return 'hooks in, not trusted yet'
  const choice = undo ? '' : ', without restore points'
  return trust === 'unknown' ? `hooks in${choice}, trusted: …` : `hooks in${choice}`
}
