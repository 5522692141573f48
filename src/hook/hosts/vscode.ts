import type { EventJson, Host } from '../host.ts'
import { claudeContext, claudeFields, claudeRefusal } from './claude.ts'

const edits = [
  'create_file',
  'replace_string_in_file',
  'multi_replace_string_in_file',
  'insert_edit_into_file',
  'apply_patch',
  'edit_notebook_file',
  'create_directory',
  // The names in its documentation.
  'editFiles',
  'createFile',
]
const shells = [
  'run_in_terminal',
  'send_to_terminal',
  'create_and_run_task',
  'run_task',
  'run_notebook_cell',
  'run_vscode_command',
  'runTests',
  'runTerminalCommand',
]

/** Tools that other hosts do not have. */
const ownTools = new Set<unknown>([...edits, ...shells].filter((name) => name !== 'apply_patch'))

/**
 * VS Code sends a time with every event, as Copilot does, and mostly a transcript, as Claude Code does. Early
 * versions named all fields in camel case. Gemini CLI sends both, too, and passes its session in a variable.
 */
const isOwn = (json: EventJson, env: NodeJS.ProcessEnv): boolean => {
  if ('sessionId' in json && 'hookEventName' in json) return true
  if (typeof json.timestamp !== 'string' || json.session_id === env.GEMINI_SESSION_ID) return false
  return ownTools.has(json.tool_name) || ('transcript_path' in json && ownEvents.has(json.hook_event_name))
}

/** The agents of VS Code (the harness "Local"), which run the hooks in Claude Code's settings. */
export const vscode: Host = {
  name: 'vscode',
  title: 'VS Code',
  // VS Code ignores matchers: its hooks run for every tool.
  events: [
    { name: 'PreToolUse', kind: 'pre' },
    { name: 'PostToolUse', kind: 'post' },
    { name: 'UserPromptSubmit', kind: 'prompt' },
    { name: 'Stop', kind: 'stop' },
    { name: 'SessionStart', kind: 'start' },
  ],
  fields: {
    ...claudeFields,
    event: ['hook_event_name', 'hookEventName'],
    session: ['session_id', 'sessionId'],
  },
  namesEvent: true,
  directoryVariables: [],
  // The process of all extensions has many sessions.
  sharesProcess: true,
  edits,
  shells,
  posixShells: ['run_in_terminal', 'runTerminalCommand'],
  renamesSessions: false,
  sharesSettings: false,
  isSender: isOwn,
  blocksOnNonzeroExit: false,
  refusal: claudeRefusal,
  context: claudeContext,
  refusalExitCode: 2,
}

const ownEvents = new Set<unknown>(vscode.events.map(({ name }) => name))
