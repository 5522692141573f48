import { type AgentName, type EventKind, hosts } from './hosts.ts'

/** An event of an agent, in the same terms for every host. */
export interface HookEvent {
  /** The host that sent it: some hosts also run the hooks in the settings of another. */
  host: AgentName
  /** As the host named it. */
  name: string
  /** Undefined for an event that stint does not use. */
  kind: EventKind | undefined
  /** As the host gave it: it may be missing, or unusable as a file name. */
  sessionId: string | undefined
  cwd: string | undefined
  tool: Tool | undefined
  /** The id of the call that begins or ends; some hosts give none. */
  callId: string | undefined
  /** The event is about a subagent, which shares its parent's session. */
  subagent: boolean
  /** Why a session began or ended: `clear` and `resume` only change its id. */
  cause: string | undefined
  /** Tasks keep running in the background after the turn. */
  background: boolean
}

export interface Tool {
  name: string
  /** `edit` names its files; `shell` can change anything; `none` changes nothing that is claimed. */
  use: 'edit' | 'shell' | 'none'
  input: Record<string, unknown>
}

export interface EventSource {
  /** The agent whose settings started this hook. */
  configured: AgentName
  /** The event's name on the command line, for hosts that leave it out of the JSON. */
  name?: string
  env: NodeJS.ProcessEnv
}

/** Reads an event from the JSON that a host sent; any field may be missing. */
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

/**
 * The host that sent an event, recognized by a field that only it sends. Cursor and Copilot also run the
 * hooks in Claude Code's settings, with events of their own, and do not understand its responses.
 */
export function detectHost(
  json: Readonly<Record<string, unknown>>,
  { configured, env }: EventSource,
): AgentName {
  if ('cursor_version' in json || ('conversation_id' in json && 'generation_id' in json)) return 'cursor'
  if ('sessionId' in json && !('session_id' in json)) return 'copilot'
  if (isGemini(json, env)) return 'gemini'
  // Only Codex numbers its turns.
  if ('turn_id' in json) return 'codex'
  // For an event of Claude Code's name, Copilot sends a time and no transcript; Claude Code the opposite.
  if ('timestamp' in json && !('transcript_path' in json)) return 'copilot'
  return configured
}

const geminiEvents = new Set<unknown>(['BeforeTool', 'AfterTool', 'BeforeAgent', 'AfterAgent'])

/** GEMINI_SESSION_ID alone proves nothing: any agent started from Gemini's shell inherits it. */
const isGemini = (json: Readonly<Record<string, unknown>>, env: NodeJS.ProcessEnv): boolean =>
  geminiEvents.has(json.hook_event_name) ||
  ('timestamp' in json && json.session_id === env.GEMINI_SESSION_ID && env.GEMINI_SESSION_ID !== undefined)

const kinds = new Map(
  Object.values(hosts).flatMap(({ events }) => events.map(({ name, kind }) => [name.toLowerCase(), kind])),
)

/** Hosts that read each other's settings differ in spelling: `PreToolUse`, `preToolUse`. */
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
  // The matchers that stint writes name no MCP tool: a user who added one wants it guarded.
  return shells.includes(name) || /^mcp[_:]/i.test(name) ? 'shell' : 'none'
}

/** Copilot sends the arguments as a string. */
function inputOf(value: unknown): Record<string, unknown> {
  if (typeof value === 'object' && value !== null) return value as Record<string, unknown>
  if (typeof value !== 'string') return {}
  try {
    const parsed: unknown = JSON.parse(value)
    return typeof parsed === 'object' && parsed !== null ? (parsed as Record<string, unknown>) : {}
  } catch {
    // The string may be a patch.
    return { input: value }
  }
}

const text = (value: unknown): string | undefined =>
  typeof value === 'string' && value.trim() !== '' ? value : undefined
