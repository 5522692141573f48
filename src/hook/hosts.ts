import type { Host, HostName } from './host.ts'
import { claude } from './hosts/claude.ts'
import { codex } from './hosts/codex.ts'
import { copilot } from './hosts/copilot.ts'
import { cursor } from './hosts/cursor.ts'
import { gemini } from './hosts/gemini.ts'
import { git } from './hosts/git.ts'
import { opencode } from './hosts/opencode.ts'
import { qwen } from './hosts/qwen.ts'
import { vscode } from './hosts/vscode.ts'

/** Every host, in the order of all lists; git, which is not an agent, comes last. */
export const hosts: Readonly<Record<HostName, Host>> = {
  claude,
  codex,
  cursor,
  vscode,
  copilot,
  gemini,
  qwen,
  opencode,
  git,
}

export const isHostName = (text: unknown): text is HostName =>
  typeof text === 'string' && Object.hasOwn(hosts, text)

/** The name of an agent for people, such as "Claude Code"; an unknown name stays as it is. */
export const agentTitle = (agent: string): string => (isHostName(agent) ? hosts[agent].title : agent)
