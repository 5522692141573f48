import type { HookChoices } from '../../hook/options.ts'
import type { HostEvent, SettingsAgentName } from '../../hook/host.ts'
import { hosts } from '../../hook/hosts.ts'
import type { InstallPlace } from '../agents.ts'
import { type HostSettings, hostSettings } from '../host-settings.ts'
import { settingsCommand } from './command-text.ts'

/** A hook that stint registers for an event. */
export interface HookEntry {
  event: string
  /** Absent if the hook is for every tool, or the event is not about a tool. */
  matcher?: string | undefined
  handler: Readonly<Record<string, unknown>>
}

export interface EntryOptions extends HookChoices {
  program: readonly string[]
  place: InstallPlace
}

/** The hooks that stint registers with an agent. */
export function hookEntries(
  agent: SettingsAgentName,
  { program, place, ...choices }: EntryOptions,
): HookEntry[] {
  const host = hosts[agent]
  const ends = choices.subagents === 'apart' ? (host.subagentEnd ?? []) : []
  return [...host.events, ...ends].map((event) => ({
    event: event.name,
    matcher: event.matcher,
    handler: handlerOf(
      hostSettings[agent],
      event,
      settingsCommand(host, event, program, choices, place),
      choices,
    ),
  }))
}

/** Codex allows at most 3 s for SessionStart and SessionEnd. A hook that waits gets its wait in addition. */
const timeoutMs = 3000

function handlerOf(
  { fixed, shape, timeout, failClosed }: HostSettings,
  event: HostEvent,
  command: string,
  choices: HookChoices,
): Record<string, unknown> {
  const waitMs = event.kind === 'pre' ? (choices.waitMs ?? 0) : 0
  return {
    ...fixed?.(event),
    [shape.command]: command,
    [timeout.property]: Math.ceil((timeoutMs + waitMs) / timeout.unitMs),
    ...(choices.failClosed && event.kind === 'pre' ? failClosed : undefined),
  }
}
