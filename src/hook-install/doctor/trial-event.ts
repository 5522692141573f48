import type { SettingsAgent } from '../agents.ts'

/** The JSON event that the agent sends before it runs a shell command. */
export function trialEvent(agent: SettingsAgent, cwd: string, session: string): string {
  return JSON.stringify(events[agent](cwd, session))
}

const tool_input = { command: 'true' }

/** The event in the format of Claude Code, which Codex shares. */
const preToolUse = (cwd: string, session_id: string) => ({
  session_id,
  transcript_path: `${cwd}/transcript.jsonl`,
  cwd,
  permission_mode: 'default',
  hook_event_name: 'PreToolUse',
  tool_name: 'Bash',
  tool_input,
  tool_use_id: 'toolu_doctor',
})

const events: Readonly<Record<SettingsAgent, (cwd: string, session: string) => object>> = {
  claude: preToolUse,
  codex: (cwd, session) => ({
    ...preToolUse(cwd, session),
    transcript_path: null,
    turn_id: 'turn-doctor',
    model: 'doctor',
  }),
  cursor: (cwd, conversation_id) => ({
    conversation_id,
    generation_id: 'generation-doctor',
    model: 'doctor',
    hook_event_name: 'preToolUse',
    cursor_version: '0',
    workspace_roots: [cwd],
    user_email: null,
    transcript_path: null,
    tool_name: 'Shell',
    tool_input,
    tool_use_id: 'tool_doctor',
    cwd,
  }),
  copilot: (cwd, sessionId) => ({
    sessionId,
    timestamp: Date.now(),
    cwd,
    toolName: 'bash',
    toolArgs: tool_input,
  }),
  gemini: (cwd, session_id) => ({
    session_id,
    transcript_path: '',
    cwd,
    hook_event_name: 'BeforeTool',
    timestamp: new Date().toISOString(),
    tool_name: 'run_shell_command',
    tool_input,
  }),
}
