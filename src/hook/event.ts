import { detectHost, type EventSource } from './detect-host.ts'
import { type AgentName, type EventKind, hosts } from './hosts.ts'

/** What happened, in our own words, whatever host said it. */
export interface HookEvent {
  /** Who really called: configurations are read by more hosts than they were written for. */
  host: AgentName
  /** As the host named it. */
  name: string
  /** Undefined: an event that is none of ours. */
  kind: EventKind | undefined
  /** As the host gave it: may be missing, blank, or no name for a file. */
  sessionId: string | undefined
  cwd: string | undefined
  tool: Tool | undefined
  /** The call that begins or ends; some hosts do not name it. */
  callId: string | undefined
  /** It happened in a subagent, which shares its parent's session. */
  subagent: boolean
  /** Why a session began or ended: `clear` and `resume` only change its name. */
  cause: string | undefined
  /** Work goes on in the background after the turn. */
  background: boolean
}

export interface Tool {
  name: string
  /** `edit` names its files; `shell` can change anything; `none` changes nothing that is claimed. */
  use: 'edit' | 'shell' | 'none'
  input: Record<string, unknown>
}

/** An event from what a host sent; nothing in it is trusted to be there. */
export function readEvent(json: Readonly<Record<string, unknown>>, source: EventSource): HookEvent {
  const host = detectHost(json, source)
  const name = text(json.hook_event_name) ?? text(json.hookEventName) ?? source.name ?? ''
  return {
    host,
    name,
    kind: kindOf(name),
    sessionId: text(json.session_id) ?? text(json.sessionId) ?? text(json.conversation_id),
    cwd: directoryOf(json, source.env),
    tool: toolOf(json, host),
    callId: text(json.tool_use_id) ?? text(json.toolUseId) ?? text(json.toolCallId),
    subagent: text(json.agent_id) !== undefined,
    cause: text(json.reason) ?? text(json.source),
    background: Array.isArray(json.background_tasks) && json.background_tasks.length > 0,
  }
}

const kinds = new Map(
  Object.values(hosts).flatMap(({ events }) => events.map(({ name, kind }) => [name.toLowerCase(), kind])),
)

/** Hosts that read each other's settings spell names each in their own way: `PreToolUse`, `preToolUse`. */
const kindOf = (name: string): EventKind | undefined => kinds.get(name.toLowerCase())

function directoryOf(json: Readonly<Record<string, unknown>>, env: NodeJS.ProcessEnv): string | undefined {
  const roots: unknown = json.workspace_roots
  const root = Array.isArray(roots) ? text(roots[0]) : undefined
  return text(json.cwd) ?? root ?? text(env.CURSOR_PROJECT_DIR) ?? text(env.CLAUDE_PROJECT_DIR)
}

function toolOf(json: Readonly<Record<string, unknown>>, host: AgentName): Tool | undefined {
  const name = text(json.tool_name) ?? text(json.toolName)
  if (name === undefined) return undefined
  return { name, use: useOf(name, host), input: inputOf(json.tool_input ?? json.toolArgs) }
}

export function useOf(name: string, host: AgentName): Tool['use'] {
  const { edits, shells } = hosts[host]
  if (edits.includes(name)) return 'edit'
  // A tool of somebody's own server is nowhere in our matchers: if it comes here, a person has put it there.
  return shells.includes(name) || /^mcp[_:]/i.test(name) ? 'shell' : 'none'
}

/** Copilot gives the arguments as text. */
function inputOf(value: unknown): Record<string, unknown> {
  if (typeof value === 'object' && value !== null) return value as Record<string, unknown>
  if (typeof value !== 'string') return {}
  try {
    const parsed: unknown = JSON.parse(value)
    return typeof parsed === 'object' && parsed !== null ? (parsed as Record<string, unknown>) : {}
  } catch {
    // A patch may come as it is.
    return { input: value }
  }
}

const text = (value: unknown): string | undefined =>
  typeof value === 'string' && value.trim() !== '' ? value : undefined
