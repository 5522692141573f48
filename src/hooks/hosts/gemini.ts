import { type Host, shortPatienceMs } from './host.ts'
import { claudeFields } from './claude.ts'

// Gemini reads this as an unanchored regular expression: a bare `replace` would match other tools, too.
const matcher = '^(run_shell_command|write_file|replace)$'

export const gemini = (): Host => ({
  name: 'gemini',
  title: 'Gemini CLI',
  events: [
    { name: 'BeforeTool', kind: 'pre', matcher },
    { name: 'AfterTool', kind: 'post', matcher },
    { name: 'BeforeAgent', kind: 'prompt' },
    { name: 'AfterAgent', kind: 'stop' },
    { name: 'SessionStart', kind: 'start' },
    { name: 'SessionEnd', kind: 'end' },
  ],
  patienceMs: shortPatienceMs,
  fields: claudeFields,
  namesEvent: true,
  directoryVariables: ['CLAUDE_PROJECT_DIR'],
  sessionVariable: 'GEMINI_SESSION_ID',
  edits: ['write_file', 'replace'],
  shells: ['run_shell_command'],
  posixShells: ['run_shell_command'],
  renamesSessions: true,
  blocksOnNonzeroExit: true,
  refusal: (reason) => ({ decision: 'deny', reason }),
  // Gemini reads stdout first, whatever the exit code.
  refusalExitCode: 0,
})
