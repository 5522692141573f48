import type { HookChoices } from '../../hook/options.ts'
import { type Host, type HostEvent, hosts } from '../../hook/hosts.ts'
import type { InstallScope, SettingsAgent } from '../agents.ts'
import { commandText } from './command-text.ts'

/** The structure of hooks in the settings of a host. */
export interface SettingsShape {
  /** `groups`: handlers in groups that share a matcher. `flat`: each entry has its own. */
  kind: 'groups' | 'flat'
  /** The property of a handler that contains its command. */
  command: 'command' | 'bash'
  /** The properties that the file needs beside its hooks. */
  root: Readonly<Record<string, number>>
}

const groups: SettingsShape = { kind: 'groups', command: 'command', root: {} }

export const shapes: Readonly<Record<SettingsAgent, SettingsShape>> = {
  claude: groups,
  codex: groups,
  gemini: groups,
  cursor: { kind: 'flat', command: 'command', root: { version: 1 } },
  copilot: { kind: 'flat', command: 'bash', root: { version: 1 } },
}

/** A hook that stint registers for an event. */
export interface HookEntry {
  event: string
  matcher?: string
  handler: Readonly<Record<string, unknown>>
}

export interface EntryOptions extends HookChoices {
  program: readonly string[]
  place: InstallScope
}

/** The hooks that stint registers with an agent. */
export function hookEntries(agent: SettingsAgent, { program, place, ...choices }: EntryOptions): HookEntry[] {
  const host = hosts[agent]
  return host.events.map((event) => ({
    event: event.name,
    ...(event.matcher === undefined ? {} : { matcher: event.matcher }),
    handler: handlerOf(agent, host, event, commandText(host, event, program, choices, place), choices),
  }))
}

function handlerOf(
  agent: SettingsAgent,
  host: Host,
  event: HostEvent,
  command: string,
  { failClosed }: HookChoices,
): Record<string, unknown> {
  const closed = failClosed && event.kind === 'pre' ? host.failClosed : undefined
  const timeout = agent === 'copilot' ? { timeoutSec: event.timeout } : { timeout: event.timeout }
  return {
    // Gemini shows this name in its list of hooks, and disables hooks by it.
    ...(agent === 'gemini' ? { name: `stint-${event.kind}` } : {}),
    ...(agent === 'cursor' ? {} : { type: 'command' }),
    [shapes[agent].command]: command,
    ...(event.timeout === undefined ? {} : timeout),
    ...closed,
  }
}
