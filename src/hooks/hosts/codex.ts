import { type Host, longPatienceMs } from './host.ts'
import { claudeContext, claudeFields, claudeRefusal } from './claude.ts'

const matcher = 'Bash|apply_patch'

export const codex = (): Host => ({
  name: 'codex',
  title: 'Codex',
  events: [
    { name: 'PreToolUse', kind: 'pre', matcher },
    { name: 'PostToolUse', kind: 'post', matcher },
    { name: 'PermissionRequest', kind: 'waiting', matcher },
    { name: 'UserPromptSubmit', kind: 'prompt' },
    { name: 'Stop', kind: 'stop' },
    { name: 'Interrupt', kind: 'stop' },
    { name: 'SessionStart', kind: 'start' },
    { name: 'SessionEnd', kind: 'end' },
  ],
  subagentEnd: [{ name: 'SubagentStop', kind: 'stop' }],
  patienceMs: longPatienceMs,
  yieldHint: ', with yield_time_ms 65000',
  fields: claudeFields,
  namesEvent: true,
  directoryVariables: ['CLAUDE_PROJECT_DIR'],
  sessionVariable: 'CODEX_THREAD_ID',
  // The windows of one user share an app-server.
  sharesProcess: true,
  edits: ['apply_patch', 'Edit', 'Write'],
  shells: ['Bash'],
  posixShells: ['Bash'],
  blocksOnNonzeroExit: false,
  usesScript: true,
  refusal: claudeRefusal,
  context: claudeContext,
  refusalExitCode: 2,
})
