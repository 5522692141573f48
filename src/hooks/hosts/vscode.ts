import { type Host, shortPatienceMs } from './host.ts'
import { claudeContext, claudeFields, claudeRefusal } from './claude.ts'

/** The agents of VS Code (the harness "Local"), which run the hooks in Claude Code's settings. */
export const vscode = (): Host => ({
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
  patienceMs: shortPatienceMs,
  fields: {
    ...claudeFields,
    event: ['hook_event_name', 'hookEventName'],
    session: ['session_id', 'sessionId'],
  },
  namesEvent: true,
  directoryVariables: [],
  // The process of all extensions has many sessions.
  sharesProcess: true,
  edits: [
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
  ],
  shells: [
    'run_in_terminal',
    'send_to_terminal',
    'create_and_run_task',
    'run_task',
    'run_notebook_cell',
    'run_vscode_command',
    'runTests',
    'runTerminalCommand',
  ],
  posixShells: ['run_in_terminal', 'runTerminalCommand'],
  typesCommands: true,
  blocksOnNonzeroExit: false,
  refusal: claudeRefusal,
  context: claudeContext,
  refusalExitCode: 2,
})
