import { type Host, shortPatienceMs } from './host.ts'
import { claude, claudeFields, claudeRefusal } from './claude.ts'

export const copilot = (): Host => ({
  name: 'copilot',
  title: 'Copilot CLI',
  events: [
    {
      name: 'preToolUse',
      kind: 'pre',
      matcher: 'bash|powershell|write_bash|write_powershell|edit|create|apply_patch|str_replace_editor',
    },
    { name: 'postToolUse', kind: 'post' },
    { name: 'postToolUseFailure', kind: 'post', failed: true, forRecord: true },
    { name: 'userPromptSubmitted', kind: 'prompt' },
    { name: 'agentStop', kind: 'stop' },
    // A turn that an error ends has no `agentStop`.
    { name: 'errorOccurred', kind: 'stop', counts: ({ recoverable }) => recoverable === false },
    { name: 'sessionStart', kind: 'start' },
    { name: 'sessionEnd', kind: 'end' },
  ],
  // Copilot uses the names of Claude Code for a hook from its settings.
  patienceMs: shortPatienceMs,
  fields: {
    ...claudeFields,
    event: ['hook_event_name', 'hookEventName'],
    session: ['session_id', 'sessionId'],
    tool: ['tool_name', 'toolName'],
    input: ['tool_input', 'toolArgs'],
    call: ['tool_use_id', 'toolUseId', 'toolCallId'],
  },
  namesEvent: false,
  directoryVariables: ['CLAUDE_PROJECT_DIR'],
  sessionVariable: 'COPILOT_AGENT_SESSION_ID',
  edits: ['edit', 'create', 'apply_patch', 'str_replace_editor', ...claude().edits],
  shells: ['bash', 'powershell', 'write_bash', 'write_powershell', ...claude().shells],
  posixShells: ['bash', ...claude().posixShells],
  blocksOnNonzeroExit: true,
  // Copilot looks at hookSpecificOutput first for a hook from Claude Code's settings.
  refusal: (reason) => ({
    permissionDecision: 'deny',
    permissionDecisionReason: reason,
    ...claudeRefusal(reason),
  }),
  // Copilot before 1.0.57 takes any other exit code than 0 for a failure, and lets the call through.
  refusalExitCode: 0,
})
