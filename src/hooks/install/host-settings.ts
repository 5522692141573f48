import type { ProgramExit } from '../../base/process/run-program.ts'
import { parseObject } from '../../base/text/fields.ts'
import type { HostEvent, SettingsAgentName } from '../hosts/host.ts'
import { objectOr } from './json/parse.ts'

/** The files from which an agent reads its hooks. */
export interface AgentFiles {
  /** The agent's own directory, below the home directory. */
  readonly directory: string
  /** The variable that overrides that directory. */
  readonly variable?: string
  /** The directory is below `XDG_CONFIG_HOME`, if that is set. */
  readonly followsXdg?: true
  /** The file in that directory. */
  readonly user: string
  /** The file below a project; by default in a directory of the same name. */
  readonly project?: string
  /** The user's own file below a project; absent if the agent reads none. */
  readonly local?: string
  /** In a linked worktree, the agent reads the files of the checkout that the worktree was made from. */
  readonly readsMainCheckout?: true
  /** By default a program of the agent's name. */
  readonly programs?: readonly string[]
}

/** The structure of hooks in a settings file. */
export interface SettingsShape {
  /** `groups`: handlers in groups that share a matcher. `flat`: each entry has its own. */
  readonly kind: 'groups' | 'flat'
  /** The property of a handler that contains its command. */
  readonly command: 'command' | 'bash'
  /** The properties that the file needs beside its hooks. */
  readonly root: Readonly<Record<string, number>>
}

/** What the installer and the doctor need to know about an agent with settings; see also `Host`. */
export interface HostSettings extends AgentFiles {
  readonly shape: SettingsShape
  /** The properties of a handler that come before its command. */
  fixed?(event: HostEvent): Readonly<Record<string, string>>
  readonly timeout: { readonly property: string; readonly unitMs: 1 | 1000 }
  /** Added to a handler of kind `pre`, makes the agent block when the hook fails; absent if it cannot. */
  readonly failClosed?: Readonly<Record<string, string | boolean>>
  /**
   * The agent reads strict JSON: a single comment makes it ignore the whole file, hooks included.
   * `noMark`: so does a byte order mark.
   */
  readonly strict?: 'strict' | 'noMark'
  /** The event that the agent sends before it runs a shell command, for the doctor's trial. */
  trialEvent(cwd: string, session: string): object
  /** True if the agent would refuse the call, by its documentation of exit codes and output. */
  isRefusal(exit: ProgramExit): boolean
}

const groups: SettingsShape = { kind: 'groups', command: 'command', root: {} }
const typeCommand = () => ({ type: 'command' })
const seconds = { property: 'timeout', unitMs: 1000 } as const
/** The hook lets commands that only read pass, so the trial asks for one that changes files. */
const tool_input = { command: 'make' }

/** Exit code 2 refuses in every agent, if stderr gives a reason. */
const refusesByCode = ({ code, stderr }: ProgramExit): boolean => code === 2 && stderr.trim() !== ''

const claude: HostSettings = {
  directory: '.claude',
  variable: 'CLAUDE_CONFIG_DIR',
  user: 'settings.json',
  local: '.claude/settings.local.json',
  shape: groups,
  fixed: typeCommand,
  timeout: seconds,
  failClosed: { onFailure: 'block' },
  strict: 'strict',
  trialEvent: (cwd, session_id) => ({
    session_id,
    transcript_path: `${cwd}/transcript.jsonl`,
    cwd,
    permission_mode: 'default',
    hook_event_name: 'PreToolUse',
    tool_name: 'Bash',
    tool_input,
    tool_use_id: 'toolu_doctor',
  }),
  isRefusal(exit) {
    if (exit.code === 2) return refusesByCode(exit)
    return objectOr(parseObject(exit.stdout)?.hookSpecificOutput).permissionDecision === 'deny'
  },
}

const codex: HostSettings = {
  directory: '.codex',
  variable: 'CODEX_HOME',
  user: 'hooks.json',
  readsMainCheckout: true,
  shape: groups,
  fixed: typeCommand,
  timeout: seconds,
  strict: 'noMark',
  trialEvent: (cwd, session) => ({
    ...claude.trialEvent(cwd, session),
    transcript_path: null,
    turn_id: 'turn-doctor',
    model: 'doctor',
  }),
  isRefusal: claude.isRefusal,
}

const cursor: HostSettings = {
  directory: '.cursor',
  user: 'hooks.json',
  programs: ['cursor', 'cursor-agent'],
  shape: { kind: 'flat', command: 'command', root: { version: 1 } },
  timeout: seconds,
  failClosed: { failClosed: true },
  trialEvent: (cwd, conversation_id) => ({
    conversation_id,
    generation_id: 'generation-doctor',
    model: 'doctor',
    hook_event_name: 'preToolUse',
    cursor_version: '0',
    workspace_roots: [cwd],
    user_email: null,
    transcript_path: null,
    tool_name: 'Shell',
    tool_input,
    tool_use_id: 'tool_doctor',
    cwd,
  }),
  isRefusal: (exit) =>
    refusesByCode(exit) || (exit.code === 0 && parseObject(exit.stdout)?.permission === 'deny'),
}

const copilot: HostSettings = {
  directory: '.copilot',
  variable: 'COPILOT_HOME',
  // Copilot reads every file in its hooks directory, so stint has one of its own.
  user: 'hooks/stint.json',
  project: '.github/hooks/stint.json',
  shape: { kind: 'flat', command: 'bash', root: { version: 1 } },
  fixed: typeCommand,
  timeout: { property: 'timeoutSec', unitMs: 1000 },
  trialEvent: (cwd, sessionId) => ({
    sessionId,
    timestamp: Date.now(),
    cwd,
    toolName: 'bash',
    toolArgs: tool_input,
  }),
  isRefusal(exit) {
    if (exit.code === 2) return refusesByCode(exit)
    return exit.code !== 0 || parseObject(exit.stdout)?.permissionDecision === 'deny'
  },
}

const gemini: HostSettings = {
  directory: '.gemini',
  user: 'settings.json',
  shape: groups,
  // Gemini shows this name in its list of hooks, and disables hooks by it.
  fixed: ({ kind }) => ({ name: `stint-${kind}`, type: 'command' }),
  timeout: { property: 'timeout', unitMs: 1 },
  trialEvent: (cwd, session_id) => ({
    session_id,
    transcript_path: '',
    cwd,
    hook_event_name: 'BeforeTool',
    timestamp: new Date().toISOString(),
    tool_name: 'run_shell_command',
    tool_input,
  }),
  isRefusal(exit) {
    const { code, stdout, stderr } = exit
    if (code === 2) return refusesByCode(exit)
    return parseObject(stdout)?.decision === 'deny' || ((code ?? 0) > 2 && stdout + stderr !== '')
  },
}

const qwen: HostSettings = {
  directory: '.qwen',
  variable: 'QWEN_HOME',
  user: 'settings.json',
  shape: groups,
  fixed: ({ kind }) => ({ type: 'command', name: `stint-${kind}` }),
  timeout: seconds,
  trialEvent: (cwd, session) => ({
    ...claude.trialEvent(cwd, session),
    timestamp: new Date().toISOString(),
    tool_name: 'run_shell_command',
  }),
  isRefusal: claude.isRefusal,
}

export const hostSettings: Readonly<Record<SettingsAgentName, HostSettings>> = {
  claude,
  codex,
  cursor,
  copilot,
  gemini,
  qwen,
}

export const isSettingsAgent = (host: string): host is SettingsAgentName => Object.hasOwn(hostSettings, host)
