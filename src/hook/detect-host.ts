import type { AgentName } from './hosts.ts'

export interface EventSource {
  /** Whose settings we were started from. */
  configured: AgentName
  /** From the command line, for hosts that leave it out of the JSON. */
  name?: string
  env: NodeJS.ProcessEnv
}

/**
 * Which host really called? Cursor and Copilot also run the hooks in Claude Code's settings, with their own events, and would not understand its
 * answers. Each is known by a field that only it sends.
 */
export function detectHost(
  json: Readonly<Record<string, unknown>>,
  { configured, env }: EventSource,
): AgentName {
  if ('cursor_version' in json || ('conversation_id' in json && 'generation_id' in json)) return 'cursor'
  if ('sessionId' in json && !('session_id' in json)) return 'copilot'
  if (isGemini(json, env)) return 'gemini'
  // Codex counts turns; nobody else's event has that.
  if ('turn_id' in json) return 'codex'
  // With an event named as in Claude Code, Copilot sends a time and no transcript; Claude Code the other way round.
  if ('timestamp' in json && !('transcript_path' in json)) return 'copilot'
  return configured
}

const geminiEvents = new Set<unknown>(['BeforeTool', 'AfterTool', 'BeforeAgent', 'AfterAgent'])

/** Its session is in the environment, too: but so it is for any agent started from its shell. */
const isGemini = (json: Readonly<Record<string, unknown>>, env: NodeJS.ProcessEnv): boolean =>
  geminiEvents.has(json.hook_event_name) ||
  ('timestamp' in json && json.session_id === env.GEMINI_SESSION_ID && env.GEMINI_SESSION_ID !== undefined)
