import type { HookChoices } from '../../hook/options.ts'
import { type Host, type HostEvent, hosts } from '../../hook/hosts.ts'
import { commandText } from './command-text.ts'
import type { SettingsAgent } from '../agent.ts'
import type { Place } from '../install-scope.ts'

/** How a host writes its hooks down. */
export interface Shape {
  /** `groups`: handlers in groups that share a matcher. `flat`: each entry has its own. */
  kind: 'groups' | 'flat'
  /** Under which name a handler has its command. */
  command: 'command' | 'bash'
  /** What the file must have beside its hooks. */
  root: Readonly<Record<string, number>>
}

const groups: Shape = { kind: 'groups', command: 'command', root: {} }

export const shapes: Readonly<Record<SettingsAgent, Shape>> = {
  claude: groups,
  codex: groups,
  gemini: groups,
  cursor: { kind: 'flat', command: 'command', root: { version: 1 } },
  copilot: { kind: 'flat', command: 'bash', root: { version: 1 } },
}

/** One of ours, as the settings should have it. */
export interface Entry {
  event: string
  matcher?: string
  handler: Readonly<Record<string, unknown>>
}

export interface EntryOptions extends HookChoices {
  program: readonly string[]
  place: Place
}

/** Everything that must be registered with this host. */
export function entriesOf(agent: SettingsAgent, { program, place, ...choices }: EntryOptions): Entry[] {
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
    // What Gemini shows in its list of hooks, and knows them by when one is switched off.
    ...(agent === 'gemini' ? { name: `stint-${event.kind}` } : {}),
    ...(agent === 'cursor' ? {} : { type: 'command' }),
    [shapes[agent].command]: command,
    ...(event.timeout === undefined ? {} : timeout),
    ...closed,
  }
}
