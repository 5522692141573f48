import { isDeepStrictEqual } from 'node:util'
import { getNodeValue, type Node } from 'jsonc-parser'
import { StintError } from '../../base/errors/stint-error.ts'
import type { HostEvent, SettingsAgentName } from '../hosts/host.ts'
import { hosts } from '../hosts/hosts.ts'
import { defaultChoices, type HookChoices } from '../options.ts'
import { type HostSettings, hostSettings, type InstallPlace, type SettingsShape } from './agents.ts'
import type { SettingsPart } from './change.ts'
import { addProperty, append, removeAt, replaceAt } from './json-edit.ts'
import { hasComment, type JsonPath, nodeAt, parseJson, propertyOf } from './parse-settings.ts'
import { type HookCommand, readCommand, settingsCommand } from './command-text.ts'

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

/** A handler of stint's in a settings file. */
interface InstalledHandler {
  event: string
  /** The handler's group, or the handler alone if the user has added others to the group. */
  path: JsonPath
  value: unknown
  sharesGroup: boolean
  matcher: unknown
  text: string
  command: HookCommand
}

/** Finds stint's handlers by their commands, as a host may drop any other mark; in the order of the file. */
export function findHandlers(text: string, agent: string, shape: SettingsShape): InstalledHandler[] {
  return eventsOf(parseJson(text)).flatMap(([event, list]) =>
    (list.children ?? []).flatMap((item, index) => {
      const handlers = shape.kind === 'flat' ? [item] : (propertyOf(item, 'hooks')?.children ?? [])
      const sharesGroup = handlers.length > 1
      const matcher: unknown = propertyOf(item, 'matcher')?.value
      return handlers.flatMap((handler, inner) => {
        const text: unknown = propertyOf(handler, shape.command)?.value
        const command = typeof text === 'string' ? readCommand(text) : undefined
        if (command?.agent !== agent) return []
        const path = ['hooks', event, index, ...(sharesGroup ? ['hooks', inner] : [])]
        const value: unknown = getNodeValue(sharesGroup ? handler : item)
        return [{ event, path, value, sharesGroup, matcher, text: text as string, command }]
      })
    }),
  )
}

/** The events of a settings file and their lists; throws if `hooks` is not an object. */
function eventsOf(root: Node): [string, Node][] {
  if (root.type !== 'object') throw new StintError('SETTINGS_INVALID', 'its JSON is not an object')
  const hooks = propertyOf(root, 'hooks')
  if (hooks === undefined) return []
  if (hooks.type !== 'object') throw new StintError('SETTINGS_INVALID', '`hooks` is not an object')
  const names = new Set((hooks.children ?? []).map(({ children }) => String(children?.[0]?.value)))
  return [...names].flatMap((name) => {
    const list = propertyOf(hooks, name)
    return list === undefined ? [] : [[name, list] as [string, Node]]
  })
}

/** Makes these the only entries of stint's: existing ones stay where they are, new ones are appended. */
export function withEntries(
  before: string,
  agent: string,
  shape: SettingsShape,
  entries: readonly HookEntry[],
): string {
  let text = before
  eventsOf(parseJson(text))
  for (const [name, value] of Object.entries(shape.root))
    if (nodeAt(parseJson(text), [name]) === undefined) text = addProperty(text, [], name, value)
  for (const entry of entries) {
    checkList(text, entry.event)
    const present = findHandlers(text, agent, shape).find(({ event }) => event === entry.event)
    // The matcher of a group belongs to the user's handlers, too: one that lacks tools is left to them.
    const moves = present?.sharesGroup === true && missingTools(present.matcher, entry.matcher).length > 0
    if (moves) text = removeAt(text, present.path)
    text =
      present === undefined || moves
        ? append(text, ['hooks', entry.event], itemOf(entry, shape))
        : updateHandler(text, present, entry, shape)
  }
  const isSurplus = ({ event }: InstalledHandler, index: number, all: InstalledHandler[]): boolean =>
    !entries.some((entry) => entry.event === event) || all.findIndex((other) => other.event === event) < index
  text = removeHandlers(text, findHandlers(text, agent, shape).filter(isSurplus))
  return text
}

/** Removes all entries of stint's, and the containers that are empty then. */
export const withoutEntries = (text: string, agent: string, shape: SettingsShape): string =>
  removeHandlers(text, findHandlers(text, agent, shape))

function removeHandlers(before: string, found: readonly InstalledHandler[]): string {
  let text = before
  // From last to first, so that the remaining paths stay valid.
  for (const { event, path, sharesGroup } of found.toReversed()) {
    text = removeAt(text, path)
    const isEmpty = (path: JsonPath): boolean => nodeAt(parseJson(text), path)?.children?.length === 0
    // A handler that shared its group: ['hooks', event, index of the group, 'hooks', index of the handler].
    const handlers = path.slice(0, -1)
    if (sharesGroup && isEmpty(handlers)) text = removeAt(text, handlers.slice(0, -1))
    for (const outer of [['hooks', event], ['hooks']]) if (isEmpty(outer)) text = removeAt(text, outer)
  }
  return text
}

/** Updates a handler in place. In a group with handlers of the user's, the group's matcher stays. */
function updateHandler(
  text: string,
  found: InstalledHandler,
  entry: HookEntry,
  shape: SettingsShape,
): string {
  const item = found.sharesGroup
    ? entry.handler
    : itemOf({ ...entry, matcher: mergedMatcher(found, entry) }, shape)
  return isDeepStrictEqual(found.value, item) ? text : replaceAt(text, found.path, item)
}

/** Tools that the user has added to a matcher stay; the tools of ours that it lacks are appended. */
function mergedMatcher(
  { matcher: theirs }: InstalledHandler,
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

function checkList(text: string, event: string): void {
  const list = nodeAt(parseJson(text), ['hooks', event])
  if (list !== undefined && list.type !== 'array')
    throw new StintError('SETTINGS_INVALID', `\`hooks.${event}\` is not a list`)
}
