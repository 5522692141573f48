import { defaultChoices, type HookChoices } from '../../options.ts'
import type { HostEvent, SettingsAgentName } from '../../hosts/host.ts'
import { hosts } from '../../hosts/hosts.ts'
import type { InstallPlace } from '../agents.ts'
import type { SettingsPart } from '../change.ts'
import { type HostSettings, hostSettings, type SettingsShape } from '../host-settings.ts'
import { hasComment, parseJson } from '../json/parse.ts'
import { settingsCommand } from './command-text.ts'
import { findHandlers, type HookEntry, withEntries, withoutEntries } from './edit-hooks.ts'

/** The hooks of an agent, as a part of its settings; without `options`, only for removing them. */
export function hooksPart(agent: SettingsAgentName, options?: EntryOptions): SettingsPart {
  const { shape } = hostSettings[agent]
  return {
    word: 'stint-hook',
    emptyText: '{}\n',
    isIn: (text) => findHandlers(text, agent, shape).length > 0,
    addTo: (text) => withEntries(text, agent, shape, options ? hookEntries(agent, options) : []),
    removeFrom: (text) => withoutEntries(text, agent, shape),
    isBlank: (text) => hasOnlyRoot(text, shape),
  }
}

/** True if the file has no setting and no comment, except for those that every such file needs. */
function hasOnlyRoot(text: string, shape: SettingsShape): boolean {
  const { children = [] } = parseJson(text)
  const names = children.map(({ children: pair }) => String(pair?.[0]?.value))
  return !hasComment(text) && names.every((name) => Object.hasOwn(shape.root, name))
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
  const events = host.events.filter(({ forRecord }) => !forRecord || choices.record === true)
  return [...events, ...ends].map((event) => ({
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

/** Codex allows at most 3 s for SessionStart and SessionEnd. */
const timeoutMs = 3000

/** The most that a restore point takes, at the first call of a turn and at its end. */
const pointMs = 10_000

function handlerOf(
  { fixed, shape, timeout, failClosed }: HostSettings,
  event: HostEvent,
  command: string,
  choices: HookChoices,
): Record<string, unknown> {
  const waitMs = event.kind === 'pre' ? (choices.waitMs ?? defaultChoices.waitMs) : 0
  const takesPoint = choices.undo !== false && (event.kind === 'pre' || event.kind === 'stop')
  return {
    ...fixed?.(event),
    [shape.command]: command,
    [timeout.property]: Math.ceil((timeoutMs + waitMs + (takesPoint ? pointMs : 0)) / timeout.unitMs),
    ...(choices.failClosed && event.kind === 'pre' ? failClosed : undefined),
  }
}
