import type { Host, HostName } from './host.ts'
import { claude } from './claude.ts'
import { codex } from './codex.ts'
import { copilot } from './copilot.ts'
import { cursor } from './cursor.ts'
import { gemini } from './gemini.ts'
import { git } from './git.ts'
import { opencode } from './opencode.ts'
import { qwen } from './qwen.ts'
import { vscode } from './vscode.ts'

/** Every host, in the order of all lists; git, which is not an agent, comes last. */
const makers: Readonly<Record<HostName, () => Host>> = {
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

/** All modules are loaded, but a host is made when it is first asked for: a hook needs one or two. */
export const hosts = {} as Readonly<Record<HostName, Host>>
for (const [name, make] of Object.entries(makers)) {
  let made: Host | undefined
  Object.defineProperty(hosts, name, { enumerable: true, get: () => (made ??= make()) })
}

export const isHostName = (text: unknown): text is HostName =>
  typeof text === 'string' && Object.hasOwn(hosts, text)

/** The name of an agent for people, such as "Claude Code"; an unknown name stays as it is. */
export const agentTitle = (agent: string): string => (isHostName(agent) ? hosts[agent].title : agent)
