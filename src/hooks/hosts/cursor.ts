import { type Host, shortPatienceMs } from './host.ts'
import { claudeFields } from './claude.ts'

const matcher = 'Shell|Write|StrReplace|ApplyPatch|Edit|EditNotebook|TabWrite|Delete'

export const cursor = (): Host => ({
  name: 'cursor',
  title: 'Cursor',
  events: [
    { name: 'preToolUse', kind: 'pre', matcher },
    { name: 'postToolUse', kind: 'post', matcher },
    { name: 'postToolUseFailure', kind: 'post', matcher, failed: true, forRecord: true },
    { name: 'beforeSubmitPrompt', kind: 'prompt' },
    { name: 'stop', kind: 'stop' },
    { name: 'sessionStart', kind: 'start' },
    { name: 'sessionEnd', kind: 'end' },
  ],
  patienceMs: shortPatienceMs,
  fields: {
    ...claudeFields,
    session: ['session_id', 'conversation_id'],
    directory: ['cwd', 'workspace_roots'],
    tool: ['tool_name', 'tool_call.name', 'tool.name'],
    input: ['tool_input', 'tool_call.input', 'tool_call.arguments', 'tool.input'],
    error: ['error', 'error_message'],
  },
  // ApplyPatch may come as a bare patch, which is no JSON.
  namesEvent: false,
  directoryVariables: ['CURSOR_PROJECT_DIR', 'CLAUDE_PROJECT_DIR'],
  // An editor has many conversations.
  sharesProcess: true,
  edits: [...matcher.split('|').slice(1), 'MultiEdit', 'NotebookEdit'],
  shells: ['Shell', 'Bash'],
  posixShells: ['Shell', 'Bash'],
  blocksOnNonzeroExit: false,
  refusal: (reason) => ({ permission: 'deny', user_message: reason, agent_message: reason }),
  refusalExitCode: 0,
  // Cursor goes by the exit code for a hook from Claude Code's settings.
  refusalExitCodeAsGuest: 2,
  allowIfFailClosed: { permission: 'allow' },
})
