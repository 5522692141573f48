import { type AgentName, hosts } from '../../hook/hosts.ts'
import { decode } from './settings-text.ts'

/** Those that take nothing but JSON: one comment, and they do without the whole file, hooks and all. */
const strictAgents: ReadonlySet<AgentName> = new Set(['claude', 'codex'])

/** Why the agent itself does not read this file, which it would otherwise not say; undefined if it does. */
export function unreadBy(agent: AgentName, bytes: Buffer | undefined): string | undefined {
  if (bytes === undefined || !strictAgents.has(agent)) return undefined
  const { text, bom } = decode(bytes)
  // Claude Code skips a byte order mark, Codex stumbles over it.
  if (agent === 'codex' && bom) return `${hosts[agent].title} does not read a file with a byte order mark`
  try {
    JSON.parse(text)
    return undefined
  } catch {
    return `${hosts[agent].title} does not read a file with comments or trailing commas: none of its settings count`
  }
}
