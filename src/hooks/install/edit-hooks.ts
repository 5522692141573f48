import { isDeepStrictEqual } from 'node:util'
import { getNodeValue } from 'jsonc-parser'
import { StintError } from '../../base/errors/stint-error.ts'
import type { HostEvent, SettingsAgentName } from '../hosts/host.ts'
import { hosts } from '../hosts/hosts.ts'
import { defaultChoices, type HookChoices } from '../options.ts'
import { type HostSettings, hostSettings, type InstallPlace, type SettingsShape } from './agents.ts'
import type { SettingsPart } from './change.ts'
import { removeProperty, setProperty } from './json-edit.ts'
import { isString } from '../../base/text/fields.ts'
import { hasComment, objectOr, parseJson, propertyOf } from './parse-settings.ts'
import { type HookCommand, readCommand, settingsCommand } from './command-text.ts'

/** The hooks of an agent, as a part of its settings; without `options`, only for removing them. */
export const hooksPart = (agent: SettingsAgentName, options?: EntryOptions): SettingsPart => ({
  word: 'stint-hook',
  emptyText: '{}\n',
  isIn: (text) => findHandlers(text, agent).length > 0,
  addTo: (text) => withEntries(text, agent, options ? hookEntries(agent, options) : []),
  removeFrom: (text) => withEntries(text, agent, []),
  isBlank: (text) => hasOnlyRoot(text, hostSettings[agent].shape),
})

/** True if the file has no setting and no comment, except for those that every such file needs. */
function hasOnlyRoot(text: string, shape: SettingsShape): boolean {
  const { children = [] } = parseJson(text)
  const names = children.map(({ children: pair }) => String(pair?.[0]?.value))
  return !hasComment(text) && names.every((name) => Object.hasOwn(shape.root, name))
}

interface EntryOptions extends HookChoices {
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

/** A hook that stint registers for an event. */
interface HookEntry {
  event: string
  /** Absent if the hook is for every tool, or the event is not about a tool. */
  matcher?: string | undefined
  handler: Readonly<Record<string, unknown>>
}

type JsonObject = Record<string, unknown>

/** A handler of stint's in a settings file. */
interface InstalledHandler {
  event: string
  /** What the list of the event contains: a group of handlers, or this one alone. */
  item: JsonObject
  handler: JsonObject
  text: string
  command: HookCommand
}

/** Finds stint's handlers by their commands, as a host may drop any other mark; in the order of the file. */
export const findHandlers = (text: string, agent: SettingsAgentName): InstalledHandler[] =>
  handlersIn(hooksIn(text), agent)

function handlersIn(hooks: JsonObject, agent: SettingsAgentName): InstalledHandler[] {
  const { shape } = hostSettings[agent]
  return Object.entries(hooks).flatMap(([event, items]) =>
    objectsIn(items).flatMap((item) =>
      (shape.kind === 'flat' ? [item] : objectsIn(item.hooks)).flatMap((handler) => {
        const text = handler[shape.command]
        const command = isString(text) ? readCommand(text) : undefined
        return command?.agent === agent ? [{ event, item, handler, text: text as string, command }] : []
      }),
    ),
  )
}

const objectsIn = (list: unknown): JsonObject[] => (Array.isArray(list) ? list.map(objectOr) : [])

/** A copy of the file's `hooks`; throws if they are no object. */
function hooksIn(text: string): JsonObject {
  const root = parseJson(text)
  if (root.type !== 'object') throw new StintError('SETTINGS_INVALID', 'its JSON is not an object')
  const hooks = propertyOf(root, 'hooks')
  if (hooks === undefined) return {}
  if (hooks.type !== 'object') throw new StintError('SETTINGS_INVALID', '`hooks` is not an object')
  return getNodeValue(hooks) as JsonObject
}

/** Makes these the only entries of stint's: existing ones stay where they are, new ones are appended. */
export function withEntries(before: string, agent: SettingsAgentName, entries: readonly HookEntry[]): string {
  const hooks = hooksIn(before)
  for (const entry of entries) putEntry(hooks, entry, agent)
  const isSurplus = ({ event }: InstalledHandler, index: number, all: InstalledHandler[]): boolean =>
    !entries.some((entry) => entry.event === event) || all.findIndex((other) => other.event === event) < index
  for (const surplus of handlersIn(hooks, agent).filter(isSurplus)) removeHandler(hooks, surplus)
  const { root } = hostSettings[agent].shape
  const missing =
    entries.length === 0 ? [] : Object.entries(root).filter(([name]) => !hasProperty(before, name))
  const text = missing.reduce((settings, [name, value]) => setProperty(settings, name, value), before)
  if (isDeepStrictEqual(hooks, hooksIn(before))) return text
  return Object.keys(hooks).length === 0 ? removeProperty(text, 'hooks') : setProperty(text, 'hooks', hooks)
}

const hasProperty = (text: string, name: string): boolean => propertyOf(parseJson(text), name) !== undefined

function putEntry(hooks: JsonObject, entry: HookEntry, agent: SettingsAgentName): void {
  const { shape } = hostSettings[agent]
  const { event, handler } = entry
  const list = (hooks[event] ??= [])
  if (!Array.isArray(list)) throw new StintError('SETTINGS_INVALID', `\`hooks.${event}\` is not a list`)
  const present = handlersIn(hooks, agent).find((each) => each.event === event)
  if (present === undefined) list.push(itemOf(entry, shape))
  else if (!sharesGroup(present))
    list[list.indexOf(present.item)] = itemOf({ ...entry, matcher: mergedMatcher(present, entry) }, shape)
  else if (missingTools(present.item.matcher, entry.matcher).length === 0)
    replaceItem(present.item.hooks as unknown[], present.handler, handler)
  else {
    // The matcher of a group belongs to the user's handlers, too: one that lacks tools is left to them.
    removeHandler(hooks, present)
    list.push(itemOf(entry, shape))
  }
}

const sharesGroup = ({ item }: InstalledHandler): boolean =>
  Array.isArray(item.hooks) && item.hooks.length > 1

const replaceItem = (list: unknown[], item: unknown, ...now: unknown[]): void =>
  void list.splice(list.indexOf(item), 1, ...now)

/** Removes a handler, and the containers that are empty then. */
function removeHandler(hooks: JsonObject, handler: InstalledHandler): void {
  const { event, item } = handler
  if (sharesGroup(handler)) return replaceItem(item.hooks as unknown[], handler.handler)
  const list = hooks[event] as unknown[]
  replaceItem(list, item)
  if (list.length === 0) delete hooks[event]
}

/** Tools that the user has added to a matcher stay; the tools of ours that it lacks are appended. */
function mergedMatcher(
  { item: { matcher: theirs } }: InstalledHandler,
  { matcher: ours }: HookEntry,
): string | undefined {
  if (ours === undefined || theirs === undefined) return undefined
  if (typeof theirs !== 'string') return ours
  const missing = missingTools(theirs, ours)
  if (missing.length === 0) return theirs
  return `${theirs}|${ours.replace(toolsIn(ours).join('|'), missing.join('|'))}`
}

/** The tools of stint's matcher that an installed one lacks; without a matcher, a hook is for every tool. */
export function missingTools(theirs: unknown, ours: string | undefined): string[] {
  if (ours === undefined || typeof theirs !== 'string' || ['', '*', '.*'].includes(theirs)) return []
  const guarded = toolsIn(theirs)
  return toolsIn(ours).filter((tool) => !guarded.includes(tool))
}

/** The tools of a matcher: `A|B`, or `^(A|B)$` where the host reads an unanchored expression. */
const toolsIn = (matcher: string): string[] => matcher.split(/[|()^$]+/).filter((tool) => tool !== '')

function itemOf({ matcher, handler }: HookEntry, { kind }: SettingsShape): Record<string, unknown> {
  const matching = matcher === undefined ? {} : { matcher }
  return kind === 'flat' ? { ...handler, ...matching } : { ...matching, hooks: [handler] }
}
