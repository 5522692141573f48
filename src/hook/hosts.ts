/**
 * The agents whose tool calls stint can refuse, and the events to register with each. The installer writes
 * settings from this table and the hook reads events by it, so the two cannot disagree.
 */
export type AgentName = 'claude' | 'codex' | 'cursor' | 'copilot' | 'gemini' | 'opencode' | 'git'

/** The meaning of an event for a claim, whatever its host calls it. */
export type EventKind =
  /** A tool is about to run, and needs the claim. */
  | 'pre'
  /** A tool has run, or failed. */
  | 'post'
  /** The user has sent a prompt: no earlier call can still be running. */
  | 'prompt'
  /** The turn has ended, or was cancelled. */
  | 'stop'
  /** A session begins, is resumed, or continues under another id. */
  | 'start'
  | 'end'

/** An event to register with a host. */
export interface HostEvent {
  /** The name in the host's settings. */
  readonly name: string
  readonly kind: EventKind
  /** The tools, in the host's own syntax; absent if the host takes no matcher. */
  readonly matcher?: string
  /** In the host's own unit: Gemini counts milliseconds, the others seconds. */
  readonly timeout?: number
}

export interface Host {
  readonly name: AgentName
  /** The name for people. */
  readonly title: string
  readonly events: readonly HostEvent[]
  /** False if the JSON lacks the event's name, which is then passed on the command line (`--event`). */
  readonly namesEvent: boolean
  /**
   * How the host treats a hook that cannot be started or exits with an unknown code. `closed`: it blocks the
   * tool, so the command line must turn such codes into 0 (see `commandLine`).
   */
  readonly onCrash: 'open' | 'closed'
  /** Added to an entry of kind `pre`, makes the host block when the hook fails; absent if it cannot. */
  readonly failClosed?: Readonly<Record<string, string | boolean>>
  /** Tools that change files named in their input. */
  readonly edits: readonly string[]
  /** Tools that can change anything. */
  readonly shells: readonly string[]
}

const claudeTools = 'Edit|Write|MultiEdit|NotebookEdit|Bash'
const codexTools = 'Bash|apply_patch'
const cursorTools = 'Shell|Write|Delete'
const copilotTools = 'bash|powershell|write_bash|write_powershell|edit|create|apply_patch|str_replace_editor'
// Gemini reads this as an unanchored regular expression: a bare `replace` would match other tools, too.
const geminiTools = '^(run_shell_command|write_file|replace)$'

const claude: Host = {
  name: 'claude',
  title: 'Claude Code',
  namesEvent: true,
  onCrash: 'open',
  failClosed: { onFailure: 'block' },
  edits: ['Edit', 'Write', 'MultiEdit', 'NotebookEdit'],
  shells: ['Bash', 'PowerShell'],
  events: [
    { name: 'PreToolUse', kind: 'pre', matcher: claudeTools, timeout: 3 },
    { name: 'PostToolUse', kind: 'post', matcher: claudeTools, timeout: 3 },
    { name: 'PostToolUseFailure', kind: 'post', matcher: claudeTools, timeout: 3 },
    { name: 'UserPromptSubmit', kind: 'prompt', timeout: 3 },
    { name: 'Stop', kind: 'stop', timeout: 3 },
    { name: 'StopFailure', kind: 'stop', timeout: 3 },
    { name: 'SessionStart', kind: 'start', timeout: 3 },
    { name: 'SessionEnd', kind: 'end', timeout: 3 },
  ],
}

const codex: Host = {
  name: 'codex',
  title: 'Codex',
  namesEvent: true,
  onCrash: 'open',
  edits: ['apply_patch', 'Edit', 'Write'],
  shells: ['Bash'],
  events: [
    { name: 'PreToolUse', kind: 'pre', matcher: codexTools, timeout: 3 },
    { name: 'PostToolUse', kind: 'post', matcher: codexTools, timeout: 3 },
    { name: 'UserPromptSubmit', kind: 'prompt', timeout: 3 },
    { name: 'Stop', kind: 'stop', timeout: 3 },
    { name: 'Interrupt', kind: 'stop', timeout: 3 },
    { name: 'SessionStart', kind: 'start', timeout: 3 },
    // Codex allows at most 3 s for SessionStart and SessionEnd.
    { name: 'SessionEnd', kind: 'end', timeout: 3 },
  ],
}

/** Not an agent, but every agent's shell uses it. Only `prepared` of `reference-transaction` counts. */
const git: Host = {
  name: 'git',
  title: 'git',
  namesEvent: false,
  onCrash: 'closed',
  edits: [],
  shells: [],
  events: [
    { name: 'pre-commit', kind: 'pre' },
    { name: 'reference-transaction', kind: 'pre' },
  ],
}

const cursor: Host = {
  name: 'cursor',
  title: 'Cursor',
  namesEvent: true,
  onCrash: 'open',
  failClosed: { failClosed: true },
  edits: ['Write', 'Delete', 'Edit', 'StrReplace', 'MultiEdit', 'NotebookEdit'],
  shells: ['Shell', 'Bash'],
  events: [
    { name: 'preToolUse', kind: 'pre', matcher: cursorTools, timeout: 3 },
    { name: 'postToolUse', kind: 'post', matcher: cursorTools, timeout: 3 },
    { name: 'postToolUseFailure', kind: 'post', matcher: cursorTools, timeout: 3 },
    { name: 'beforeSubmitPrompt', kind: 'prompt', timeout: 3 },
    { name: 'stop', kind: 'stop', timeout: 3 },
    { name: 'sessionStart', kind: 'start', timeout: 3 },
    { name: 'sessionEnd', kind: 'end', timeout: 3 },
  ],
}

const copilot: Host = {
  name: 'copilot',
  title: 'Copilot CLI',
  namesEvent: false,
  onCrash: 'closed',
  edits: ['edit', 'create', 'apply_patch', 'str_replace_editor', ...claude.edits],
  shells: ['bash', 'powershell', 'write_bash', 'write_powershell', ...claude.shells],
  events: [
    { name: 'preToolUse', kind: 'pre', matcher: copilotTools, timeout: 3 },
    { name: 'postToolUse', kind: 'post', timeout: 3 },
    { name: 'postToolUseFailure', kind: 'post', timeout: 3 },
    { name: 'userPromptSubmitted', kind: 'prompt', timeout: 3 },
    { name: 'agentStop', kind: 'stop', timeout: 3 },
    { name: 'sessionStart', kind: 'start', timeout: 3 },
    { name: 'sessionEnd', kind: 'end', timeout: 3 },
  ],
}

const gemini: Host = {
  name: 'gemini',
  title: 'Gemini CLI',
  namesEvent: true,
  onCrash: 'closed',
  edits: ['write_file', 'replace'],
  shells: ['run_shell_command'],
  events: [
    { name: 'BeforeTool', kind: 'pre', matcher: geminiTools, timeout: 3000 },
    { name: 'AfterTool', kind: 'post', matcher: geminiTools, timeout: 3000 },
    { name: 'BeforeAgent', kind: 'prompt', timeout: 3000 },
    { name: 'AfterAgent', kind: 'stop', timeout: 3000 },
    { name: 'SessionStart', kind: 'start', timeout: 3000 },
    { name: 'SessionEnd', kind: 'end', timeout: 3000 },
  ],
}

/** OpenCode loads a plugin into its own process: there are no commands to register. */
const opencode: Host = {
  name: 'opencode',
  title: 'OpenCode',
  namesEvent: true,
  onCrash: 'open',
  edits: ['edit', 'write', 'multiedit', 'patch', 'apply_patch'],
  shells: ['bash'],
  events: [],
}

/** In the order of all lists; git, which is not an agent, comes last. */
export const hosts: Readonly<Record<AgentName, Host>> = {
  claude,
  codex,
  cursor,
  copilot,
  gemini,
  opencode,
  git,
}

export const isAgentName = (text: unknown): text is AgentName =>
  typeof text === 'string' && Object.hasOwn(hosts, text)

/** The name of an agent for people, such as "Claude Code"; an unknown name stays as it is. */
export const agentTitle = (agent: string): string => (isAgentName(agent) ? hosts[agent].title : agent)
