import type { SessionVariable } from '../../lease/index.ts'

/** A program that starts `stint-hook` or loads its plugin: an agent, or git. */
export type HostName =
  | 'claude'
  | 'codex'
  | 'cursor'
  | 'vscode'
  | 'copilot'
  | 'gemini'
  | 'qwen'
  | 'opencode'
  | 'git'

/**
 * An agent with hooks of its own. git's are installed only on request, and VS Code runs those of Claude Code.
 */
export type AgentName = Exclude<HostName, 'git' | 'vscode'>

/** A host that hooks can be installed for. */
export type TargetName = AgentName | 'git'

/** An agent that keeps its hooks in a JSON file; OpenCode has a plugin instead. */
export type SettingsAgentName = Exclude<AgentName, 'opencode'>

/** The meaning of an event for a claim, whatever its host calls it. */
export type EventKind =
  /** A tool is about to run, and needs the claim. */
  | 'pre'
  /** A tool has run, or failed. */
  | 'post'
  /** The agent waits for its user's permission. */
  | 'waiting'
  /** The user has sent a prompt. */
  | 'prompt'
  /** The turn has ended, or was cancelled. */
  | 'stop'
  /** The agent is about to shorten its transcript. */
  | 'compact'
  /** A session begins, is resumed, or continues under another id. */
  | 'start'
  | 'end'

/** The events at which a host can tell its model a line. */
export type ContextKind = 'pre' | 'post' | 'start' | 'prompt'

export const longPatienceMs = 30 * 60_000
export const shortPatienceMs = 5 * 60_000

/** An event to register with a host. */
export interface HostEvent {
  /** The name in the host's settings and in its JSON; case does not matter in the JSON. */
  readonly name: string
  readonly kind: EventKind
  /** The tools, in the host's own syntax; absent if the host takes no matcher for this event. */
  readonly matcher?: string
  /** The host sends this event instead of the usual one of kind `post` when a call has failed. */
  readonly failed?: true
  /** Registered only with `--record`: it changes no claim. */
  readonly forRecord?: true
  /** Tells which events of this name count; absent if all do. */
  counts?(json: EventJson): boolean
}

/** An event as a host sends it. */
export type EventJson = Readonly<Record<string, unknown>>

/**
 * The JSON properties in which a host sends each part of an event. Of several, the first that holds a string
 * counts; of a list, its first element. `a.b` is the property `b` of the object `a`.
 */
export interface HostFields {
  readonly event: readonly string[]
  readonly session: readonly string[]
  readonly directory: readonly string[]
  readonly tool: readonly string[]
  /** The arguments of the tool: an object, or its JSON in a string. */
  readonly input: readonly string[]
  /** The id of a call; empty if the host gives none. */
  readonly call: readonly string[]
  /** The reason why a call failed. */
  readonly error: readonly string[]
  /** The result of a call: an object whose property `error` marks a failure. */
  readonly result: readonly string[]
}

/** Everything that the hook needs to know about one host. The installer's counterpart is `HostSettings`. */
export interface Host {
  readonly name: HostName
  /** The name for people. */
  readonly title: string
  /** A host needs `pre` to be guarded. Without the others, a claim lasts for the host's patience. */
  readonly events: readonly HostEvent[]
  /** The events at the end of a subagent, registered only if subagents are kept apart. */
  readonly subagentEnd?: readonly HostEvent[]
  /**
   * How long a claim lasts after an event, in milliseconds: `longPatienceMs` for a host whose ends and
   * interruptions of turns can be seen, so that a model may think in the middle of a turn.
   */
  readonly patienceMs: number
  /** The host appends interruptions, which it sends no event for, to the transcript that its events name. */
  readonly notesInterruptions?: true
  /** The host ends its wait for a command after seconds, unless the model asks for more: it is told how. */
  readonly yieldHint?: string
  readonly fields: HostFields
  /** False if stdin may lack the event's name, which the command line then contains (`--event`). */
  readonly namesEvent: boolean
  /** Variables that contain the working directory, for events without one. */
  readonly directoryVariables: readonly string[]
  /** The variable that contains the agent's process id. */
  readonly processVariable?: string
  /** The variable in which the agent passes its session id to its children. */
  readonly sessionVariable?: SessionVariable
  /** The agent's process may work for several sessions at a time. */
  readonly sharesProcess?: true
  /**
   * Tools that change files named in their input. This and `shells` are supersets of the matcher: users add
   * tools to it, and a host that runs the hooks of another may use the other's tool names.
   */
  readonly edits: readonly string[]
  /** Tools that can change anything. */
  readonly shells: readonly string[]
  /**
   * Those of `shells` that give the argument `command` to a POSIX shell: a command that only reads needs no
   * claim. PowerShell is none.
   */
  readonly posixShells: readonly string[]
  /** Types commands into a terminal, where zsh has no comments, and may take `!`, `^` and a tab for more. */
  readonly typesCommands?: true
  /** A process has one session at a time, and `/clear` or a resume only changes its id. */
  readonly renamesSessions?: true
  /** Other hosts also run the hooks in this host's settings: `senders` tells who sent an event. */
  readonly sharesSettings?: true
  /**
   * The host blocks a tool whose hook cannot be started or exits with any code but 0, so the installed
   * command turns every code but 2 into 0. Every host must take exit code 2 for a refusal.
   */
  readonly blocksOnNonzeroExit: boolean
  /** Started through `stint-hook.sh`; its `case` names the hosts whose calls it may allow without Node. */
  readonly usesScript?: true
  /** The JSON on stdout that refuses a call; absent if the host reads only the exit code and stderr. */
  refusal?(reason: string): object
  /** The JSON on stdout that tells the model a line at these events; absent if the host takes none. */
  context?(text: string, kind: ContextKind): object
  /** The exit code of a refusal. If stdout is not read, the code is always 2. */
  readonly refusalExitCode: 0 | 2
  /** The exit code of a refusal by a hook in the settings of another host, if it differs. */
  readonly refusalExitCodeAsGuest?: 0 | 2
  /**
   * The JSON on stdout for an allowed call, for a host that takes empty output for a failure when it blocks
   * on failures. All others get no output: in some, an explicit "allow" skips the user's permission prompt.
   */
  readonly allowIfFailClosed?: object
}
