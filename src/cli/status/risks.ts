import { existsSync } from 'node:fs'
import { agentTitle } from '../../hooks/hosts/hosts.ts'
import { surveyVault, vaultDirectory } from '../../vault/index.ts'
import { formatTime, plural } from '../text/format.ts'

/** The vault, and what the agents will delete or have deleted already. */
export interface RiskData {
  vault: boolean
  /** Conversations in the vault, and their size. */
  kept: number
  bytes: number
  last_sync: number | null
  agents: {
    agent: string
    /** Conversations that are not in the vault. */
    unkept: number
    /** Those of them that the agent deletes within a week, unless they are continued. */
    due: number
    /** Conversations that only the vault has, and when the last of them was still at its agent. */
    saved: number
    last_there: number | null
    /** Conversations of which only traces are left. */
    gone: number
  }[]
}

/** Compares the vault with what the agents have. */
export function gatherRisks(home: string): RiskData {
  const vault = vaultDirectory(home)
  const { agents } = surveyVault(vault)
  return {
    vault: existsSync(vault),
    kept: agents.reduce((sum, { kept }) => sum + kept, 0),
    bytes: agents.reduce((sum, { bytes }) => sum + bytes, 0),
    last_sync: Math.max(0, ...agents.map(({ synced_at }) => synced_at ?? 0)) || null,
    agents: agents.map(({ agent, new: unkept, due, lost, lost_after, gone }) => ({
      agent,
      unkept,
      due,
      saved: lost,
      last_there: lost_after,
      gone,
    })),
  }
}

/** A line for each thing at risk; none if nothing is. */
export function riskLines({ agents }: RiskData): string[] {
  const conversations = (count: number): string => plural(count, 'conversation')
  return agents.flatMap(({ agent, due, unkept, gone, saved, last_there }) => {
    const title = agentTitle(agent)
    const rest = unkept - due
    const seen =
      last_there === null ? '' : `, last there ${formatTime(last_there, { utc: false }).slice(0, 16)}`
    return [
      ...(due > 0 ? [`${title} deletes ${conversations(due)} within a week that you have no copy of`] : []),
      ...(rest > 0 ? [`${title} has ${due > 0 ? `${rest} more` : conversations(rest)} without a copy`] : []),
      ...(gone > 0 ? [`${title} has lost ${conversations(gone)} already: only traces are left`] : []),
      ...(saved > 0 ? [`${title} has lost ${conversations(saved)} that the vault still has${seen}`] : []),
    ]
  })
}
