import { type Host, shortPatienceMs } from './host.ts'
import { claudeFields } from './claude.ts'

/** OpenCode loads a plugin into its own process: there are no commands to register, and no JSON to read. */
export const opencode = (): Host => ({
  name: 'opencode',
  title: 'OpenCode',
  events: [],
  patienceMs: shortPatienceMs,
  fields: claudeFields,
  namesEvent: true,
  directoryVariables: [],
  // Set by the plugin.
  sessionVariable: 'STINT_SESSION_ID',
  sharesProcess: true,
  edits: ['edit', 'write', 'multiedit', 'patch', 'apply_patch'],
  shells: ['bash'],
  posixShells: ['bash'],
  blocksOnNonzeroExit: false,
  refusalExitCode: 2,
})
