import type { Host } from '../host.ts'
import { claudeFields } from './claude.ts'

const matcher = 'Shell|Write|Delete'

export const cursor: Host = {
  name: 'cursor',
  title: 'Cursor',
  events: [
    { name: 'preToolUse', kind: 'pre', matcher },
    { name: 'postToolUse', kind: 'post', matcher },
    { name: 'postToolUseFailure', kind: 'post', matcher, failed: true },
    { name: 'beforeSubmitPrompt', kind: 'prompt' },
    { name: 'stop', kind: 'stop' },
    { name: 'sessionStart', kind: 'start' },
    { name: 'sessionEnd', kind: 'end' },
  ],
  fields: {
    ...claudeFields,
    session: ['session_id', 'conversation_id'],
    directory: ['cwd', 'workspace_roots'],
    error: ['error', 'error_message'],
  },
  namesEvent: true,
  directoryVariables: ['CURSOR_PROJECT_DIR', 'CLAUDE_PROJECT_DIR'],
  edits: ['Write', 'Delete', 'Edit', 'StrReplace', 'MultiEdit', 'NotebookEdit'],
  shells: ['Shell', 'Bash'],
  posixShells: ['Shell', 'Bash'],
  renamesSessions: false,
  sharesSettings: false,
  isSender: (json) => 'cursor_version' in json || ('conversation_id' in json && 'generation_id' in json),
  blocksOnNonzeroExit: false,
  refusal: (reason) => ({ permission: 'deny', user_message: reason, agent_message: reason }),
  refusalExitCode: 0,
  // Cursor goes by the exit code for a hook from Claude Code's settings.
  refusalExitCodeAsGuest: 2,
  allowIfFailClosed: { permission: 'allow' },
}
