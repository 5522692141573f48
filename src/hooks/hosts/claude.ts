import { type ContextKind, type EventJson, type Host, type HostFields, longPatienceMs } from './host.ts'

const matcher = 'Edit|Write|MultiEdit|NotebookEdit|Bash|Monitor|PowerShell'

/** The fields of Claude Code, which other hosts have copied. */
export const claudeFields: HostFields = {
  event: ['hook_event_name'],
  session: ['session_id'],
  directory: ['cwd'],
  tool: ['tool_name'],
  input: ['tool_input'],
  call: ['tool_use_id'],
  error: ['error', 'reason'],
  result: ['tool_response'],
}

export const claudeRefusal = (reason: string): object => ({
  hookSpecificOutput: {
    hookEventName: 'PreToolUse',
    permissionDecision: 'deny',
    permissionDecisionReason: reason,
  },
})

/** Without a decision, so that the user's own permission rules still apply. */
export const claudeContext = (text: string, kind: ContextKind): object => ({
  hookSpecificOutput: { hookEventName: contextEvents[kind], additionalContext: text },
})

const contextEvents = {
  pre: 'PreToolUse',
  post: 'PostToolUse',
  start: 'SessionStart',
  prompt: 'UserPromptSubmit',
}

/** Claude Code also sends prompts of its own while calls run: of a timer, or about a task that has ended. */
const isOfUser = ({ source, prompt }: EventJson): boolean =>
  [undefined, 'user', 'sdk'].some((speaker) => speaker === source) &&
  !(typeof prompt === 'string' && prompt.startsWith('<task-notification>'))

/** While subagents work in the background, the turn of their session is not over: another `Stop` follows. */
const hasWorkingSubagents = ({ background_tasks: tasks }: EventJson): boolean =>
  Array.isArray(tasks) && tasks.some((task: EventJson | null) => task?.type === 'subagent')

export const claude = (): Host => ({
  name: 'claude',
  title: 'Claude Code',
  events: [
    { name: 'PreToolUse', kind: 'pre', matcher },
    { name: 'PostToolUse', kind: 'post', matcher },
    { name: 'PostToolUseFailure', kind: 'post', matcher, failed: true, forRecord: true },
    { name: 'PermissionRequest', kind: 'waiting', matcher },
    // Sent when Claude Code's own classifier, not the user, has refused the call.
    { name: 'PermissionDenied', kind: 'post', matcher, failed: true, forRecord: true },
    { name: 'Notification', kind: 'waiting' },
    { name: 'UserPromptSubmit', kind: 'prompt', counts: isOfUser },
    { name: 'Stop', kind: 'stop', counts: (json) => !hasWorkingSubagents(json) },
    { name: 'StopFailure', kind: 'stop' },
    { name: 'PreCompact', kind: 'compact' },
    { name: 'SessionStart', kind: 'start' },
    { name: 'SessionEnd', kind: 'end' },
  ],
  subagentEnd: [{ name: 'SubagentStop', kind: 'stop' }],
  patienceMs: longPatienceMs,
  notesInterruptions: true,
  fields: claudeFields,
  namesEvent: true,
  directoryVariables: ['CLAUDE_PROJECT_DIR'],
  processVariable: 'CLAUDE_PID',
  sessionVariable: 'CLAUDE_CODE_SESSION_ID',
  edits: ['Edit', 'Write', 'MultiEdit', 'NotebookEdit'],
  // Monitor runs a command in the background, and reports what it prints.
  shells: ['Bash', 'Monitor', 'PowerShell'],
  posixShells: ['Bash', 'Monitor'],
  renamesSessions: true,
  // Cursor and Copilot run the hooks of these settings with events of their own.
  sharesSettings: true,
  blocksOnNonzeroExit: false,
  usesScript: true,
  refusal: claudeRefusal,
  context: claudeContext,
  // Other hosts that run the hooks in these settings understand the exit code, if not the JSON.
  refusalExitCode: 2,
})
