import type { EventJson, EventKind, Host, HostEvent, HostFields, HostName } from './hosts/host.ts'
import { hosts } from './hosts/hosts.ts'

/** An event of an agent, in the same terms for every host. */
export interface HookEvent {
  /** The host that sent it: some hosts also run the hooks in the settings of another. */
  host: HostName
  /** As the host named it. */
  name: string
  /** Undefined for an event that stint does not use. */
  kind: EventKind | undefined
  /** As the host gave it: it may be missing, or unusable as a file name. */
  sessionId: string | undefined
  cwd: string | undefined
  tool: Tool | undefined
  /** The id of the call that begins or ends; some hosts give none. */
  callId: string | undefined
  /** Present on an event of kind `post` if the call failed; `error` is the host's reason, or null. */
  failure: { error: unknown } | undefined
  /** The user has interrupted the call, and with it the turn. */
  interrupted: boolean
  /** The event is about a subagent, which shares its parent's session. */
  subagent: boolean
  /** The id of that subagent. */
  agentId?: string
  /** The file in which the agent keeps the conversation. */
  transcript?: string
  /** Why a session began or ended: `clear` and `resume` only change its id. */
  cause: string | undefined
  /** What the user has entered. */
  prompt?: string
}

export interface Tool {
  name: string
  /** `edit` names its files; `shell` can change anything; `none` changes nothing that is claimed. */
  use: 'edit' | 'shell' | 'none'
  input: Record<string, unknown>
}

interface EventSource {
  /** The host whose settings started this hook. */
  configured: HostName
  /** The event's name on the command line, for hosts that leave it out of the JSON. */
  name?: string
  env: NodeJS.ProcessEnv
}

/** Reads an event from the JSON that a host sent; any field may be missing. */
export function readEvent(json: EventJson, source: EventSource): HookEvent {
  const { configured, env } = source
  const host = detectHost(json, source)
  const { fields, directoryVariables } = hosts[host]
  const nameInJson = firstText(json, fields.event)
  const name = nameInJson ?? source.name ?? ''
  // A host that runs the hooks of another may send its own names for events and tools, or the other's.
  const senderAndOwner = [hosts[host], hosts[configured]]
  const event = findEvent(name, senderAndOwner) ?? findEvent(source.name ?? '', senderAndOwner)
  return {
    host,
    name,
    kind: kindOf(event, json),
    sessionId: firstText(json, fields.session),
    cwd: firstText(json, fields.directory) ?? firstText(env, directoryVariables),
    tool:
      namedTool(json, fields, senderAndOwner) ?? unnamedTool(json, fields, event, nameInJson !== undefined),
    callId: firstText(json, fields.call),
    failure: failureOf(json, fields, event),
    interrupted: json.is_interrupt === true,
    subagent: text(json.agent_id) !== undefined,
    agentId: text(json.agent_id),
    transcript: text(json.transcript_path),
    cause: text(json.reason) ?? text(json.source),
    prompt: event?.kind === 'prompt' ? text(json.prompt) : undefined,
  }
}

/**
 * The host that sent an event. Only shared settings can have another sender than their own host: elsewhere, a
 * new field in a release of the host must not make it look like another, whose tools it does not have.
 */
export function detectHost(json: EventJson, { configured, env }: EventSource): HostName {
  if (!hosts[configured].sharesSettings) return configured
  const names = Object.keys(senders) as (keyof typeof senders)[]
  return names.find((name) => senders[name]?.(json, env)) ?? configured
}

/** Of the events that stint registers, only those of Codex have this. */
const isFromCodex = (json: EventJson): boolean => 'turn_id' in json

const isFromCursor = (json: EventJson): boolean =>
  'cursor_version' in json || ('conversation_id' in json && 'generation_id' in json)

/**
 * VS Code sends a time with every event, as Copilot does, and mostly a transcript, as Claude Code does. Early
 * versions named all fields in camel case. Gemini CLI sends both, too, and passes its session in a variable.
 */
function isFromVscode(json: EventJson, env: NodeJS.ProcessEnv): boolean {
  if ('sessionId' in json && 'hookEventName' in json) return true
  if (typeof json.timestamp !== 'string' || json.session_id === env.GEMINI_SESSION_ID) return false
  const { edits, shells, events } = hosts.vscode
  // Other hosts have none of these tools, except for `apply_patch`.
  const isToolOfVscode = [...edits, ...shells].some(
    (name) => name === json.tool_name && name !== 'apply_patch',
  )
  return (
    isToolOfVscode || ('transcript_path' in json && events.some(({ name }) => name === json.hook_event_name))
  )
}

/** For an event of Claude Code's name, Copilot sends a time and no transcript; Claude Code the opposite. */
const isFromCopilot = (json: EventJson): boolean =>
  ('sessionId' in json && !('session_id' in json)) || ('timestamp' in json && !('transcript_path' in json))

/** No other host has an event of such a name. */
const isEventOfGemini = (name: unknown): boolean =>
  ['BeforeTool', 'AfterTool', 'BeforeAgent', 'AfterAgent'].some((own) => own === name)

/** The variable alone proves nothing: any agent started from Gemini's shell inherits it. */
const isFromGemini = (json: EventJson, env: NodeJS.ProcessEnv): boolean =>
  isEventOfGemini(json.hook_event_name) ||
  ('timestamp' in json && json.session_id === env.GEMINI_SESSION_ID && json.session_id !== undefined)

/** Recognizes the events of each host that also runs the hooks in the settings of another. */
export const senders: Partial<Record<HostName, (json: EventJson, env: NodeJS.ProcessEnv) => boolean>> = {
  codex: isFromCodex,
  cursor: isFromCursor,
  vscode: isFromVscode,
  copilot: isFromCopilot,
  gemini: isFromGemini,
}

/** Hosts that read each other's settings differ in spelling: `PreToolUse`, `preToolUse`. */
function findEvent(name: string, known: readonly Host[]): HostEvent | undefined {
  const wanted = name.toLowerCase()
  return known
    .flatMap(({ events, subagentEnd = [] }) => [...events, ...subagentEnd])
    .find((event) => event.name.toLowerCase() === wanted)
}

/** The meaning of an event; undefined if it has none for claims. */
function kindOf(event: HostEvent | undefined, json: EventJson): EventKind | undefined {
  if (event?.counts?.(json) === false) return undefined
  const { notification_type: type } = json
  if (type === undefined || event?.kind !== 'waiting') return event?.kind
  if (type === 'idle_prompt') return 'stop'
  return type === 'permission_prompt' ? 'waiting' : undefined
}

function namedTool(json: EventJson, fields: HostFields, known: readonly Host[]): Tool | undefined {
  const name = firstText(json, fields.tool)
  if (name === undefined) return undefined
  return { name, use: useOf(name, known), input: inputOf(firstOf(json, fields.input)) }
}

/** The arguments of tools that only edit files. */
const editArguments = ['old_string', 'new_string', 'contents', 'patch']

/**
 * The tool of an event that does not name it. A host sends an event with a matcher only for a tool that can
 * change files, so the call counts as a shell, unless its arguments are those of an edit. JSON that says
 * neither its event nor arguments is no call.
 */
function unnamedTool(
  json: EventJson,
  fields: HostFields,
  event: HostEvent | undefined,
  namesEvent: boolean,
): Tool | undefined {
  const value = firstOf(json, fields.input)
  if (event?.matcher === undefined || (!namesEvent && typeof value !== 'object')) return undefined
  const input = inputOf(value)
  const use = editArguments.some((name) => name in input) ? 'edit' : 'shell'
  return { name: 'unnamed tool', use, input }
}

/** Cursor may send the patch of its ApplyPatch alone, without an event around it. */
export const eventOfPatch = (text: string): EventJson | undefined =>
  /^\uFEFF?\s*\*\*\* Begin Patch/.test(text)
    ? { tool_name: 'ApplyPatch', tool_input: { patch: text } }
    : undefined

/** What a tool can change, by the first of these hosts that knows it. */
export function useOf(name: string, known: readonly Host[]): Tool['use'] {
  for (const { edits, shells } of known) {
    if (edits.includes(name)) return 'edit'
    if (shells.includes(name)) return 'shell'
  }
  // The matchers that stint writes name no MCP tool: a user who added one wants it guarded. Those of stint's
  // server change no file, and a refused `wait_until_free` would be of no use.
  return /^mcp[_:](?!_?stint_)/i.test(name) ? 'shell' : 'none'
}

/** Some hosts send a separate event for a failed call, others put an error into its result. */
function failureOf(json: EventJson, fields: HostFields, event?: HostEvent): HookEvent['failure'] {
  const result = firstOf(json, fields.result) as { error?: unknown } | undefined
  if (!event?.failed && result?.error === undefined) return undefined
  return { error: firstOf(json, fields.error) ?? result?.error ?? null }
}

/** The arguments of a tool: some hosts send them as JSON in a string. */
function inputOf(value: unknown): Record<string, unknown> {
  if (typeof value === 'object' && value !== null) return value as Record<string, unknown>
  if (typeof value !== 'string') return {}
  try {
    const parsed: unknown = JSON.parse(value)
    return typeof parsed === 'object' && parsed !== null ? (parsed as Record<string, unknown>) : {}
  } catch {
    // The string may be a patch.
    return { input: value }
  }
}

/** The value of the first of these properties that is present. */
const firstOf = (json: EventJson, names: readonly string[]): unknown =>
  names.map((name) => valueAt(json, name)).find((value) => value !== undefined && value !== null)

/** The value of a property, or of one in a property: `tool.name`. */
function valueAt(json: EventJson, name: string): unknown {
  const [outer = '', inner] = name.split('.')
  const value = json[outer]
  if (inner === undefined) return value
  return typeof value === 'object' && value !== null ? (value as EventJson)[inner] : undefined
}

/** The first of these properties that holds a string; of a list, its first element counts. */
function firstText(json: EventJson, names: readonly string[]): string | undefined {
  for (const name of names) {
    const value = valueAt(json, name)
    const string = text(Array.isArray(value) ? value[0] : value)
    if (string !== undefined) return string
  }
  return undefined
}

const text = (value: unknown): string | undefined =>
  typeof value === 'string' && value.trim() !== '' ? value : undefined
