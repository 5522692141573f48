import { type EventJson, type Host, shortPatienceMs } from './host.ts'
import { claudeContext, claudeFields, claudeRefusal } from './claude.ts'

// Qwen Code also reads a matcher as an unanchored regular expression: a bare `edit` would match other tools.
const matcher = '^(edit|write_file|notebook_edit|run_shell_command|monitor)$'

/** While subagents work in the background, the turn of their session is not over: another `Stop` follows. */
const hasRunningTasks = ({ background_tasks: tasks }: EventJson): boolean =>
  Array.isArray(tasks) && tasks.some((task: EventJson | null) => task?.status === 'running')

/** Qwen Code sends this event with every request to its model; only words of the user come as such, too. */
const isOfUser = ({ submitted_prompt: words }: EventJson): boolean => words !== undefined

export const qwen = (): Host => ({
  name: 'qwen',
  title: 'Qwen Code',
  events: [
    { name: 'PreToolUse', kind: 'pre', matcher },
    { name: 'PostToolUse', kind: 'post', matcher },
    { name: 'PostToolUseFailure', kind: 'post', matcher, failed: true, forRecord: true },
    { name: 'PermissionRequest', kind: 'waiting', matcher },
    { name: 'PermissionDenied', kind: 'post', matcher, failed: true, forRecord: true },
    { name: 'Notification', kind: 'waiting' },
    { name: 'UserPromptSubmit', kind: 'prompt', counts: isOfUser },
    { name: 'Stop', kind: 'stop', counts: (json) => !hasRunningTasks(json) },
    { name: 'StopFailure', kind: 'stop' },
    { name: 'SessionStart', kind: 'start' },
    { name: 'SessionEnd', kind: 'end' },
  ],
  subagentEnd: [{ name: 'SubagentStop', kind: 'stop' }],
  // Whether an interrupted turn can be seen in its transcript is not known.
  patienceMs: shortPatienceMs,
  fields: claudeFields,
  namesEvent: true,
  directoryVariables: ['QWEN_PROJECT_DIR', 'CLAUDE_PROJECT_DIR'],
  sessionVariable: 'QWEN_CODE_SESSION_ID',
  // Its server for editors has many sessions.
  sharesProcess: true,
  edits: ['edit', 'write_file', 'notebook_edit'],
  shells: ['run_shell_command', 'monitor'],
  posixShells: ['run_shell_command', 'monitor'],
  blocksOnNonzeroExit: false,
  refusal: claudeRefusal,
  context: claudeContext,
  // Qwen Code takes the reason from stderr then.
  refusalExitCode: 2,
})
