import { isDeepStrictEqual } from 'node:util'
import { getNodeValue, type Node } from 'jsonc-parser'
import { StintError } from '../../base/errors/stint-error.ts'
import { type HookCommand, readCommand } from './command-text.ts'
import type { Entry, Shape } from './entry.ts'
import { addProperty, append, removeAt, replaceAt } from '../json/edit.ts'
import { type JsonPath, nodeAt, parseJson, propertyOf } from '../json/parse.ts'

/** One of our handlers as it stands in the settings. */
export interface Found {
  event: string
  /** Of the handler, and of what goes if it goes: its group, unless others have put theirs into it. */
  path: JsonPath
  whole: JsonPath
  text: string
  command: HookCommand
  /** What is at `whole`. */
  value: unknown
}

/** Our handlers in this text, in its order; known by their command, since a host may drop any other mark. */
export function findOurs(text: string, agent: string, shape: Shape): Found[] {
  const root = parseJson(text)
  return eventsOf(root).flatMap(([event, list]) =>
    (list.children ?? []).flatMap((item, index) => {
      const whole = ['hooks', event, index]
      if (shape.kind === 'flat') return foundAt(item, whole, whole, event, agent, shape, item)
      const handlers = propertyOf(item, 'hooks')?.children ?? []
      return handlers.flatMap((handler, inner) => {
        const path = [...whole, 'hooks', inner]
        const alone = handlers.length === 1
        return foundAt(handler, path, alone ? whole : path, event, agent, shape, alone ? item : handler)
      })
    }),
  )
}

function foundAt(
  handler: Node,
  path: JsonPath,
  whole: JsonPath,
  event: string,
  agent: string,
  shape: Shape,
  node: Node,
): Found[] {
  const text: unknown = propertyOf(handler, shape.command)?.value
  const command = typeof text === 'string' ? readCommand(text) : undefined
  if (command?.agent !== agent) return []
  return [{ event, path, whole, text: text as string, command, value: getNodeValue(node) }]
}

/** The events of a settings file; refuses one in which there is something else where they should be. */
function eventsOf(root: Node): [string, Node][] {
  if (root.type !== 'object') throw new StintError('SETTINGS_INVALID', 'it is JSON, but not an object')
  const hooks = propertyOf(root, 'hooks')
  if (hooks === undefined) return []
  if (hooks.type !== 'object') throw new StintError('SETTINGS_INVALID', '`hooks` is not an object')
  const names = new Set((hooks.children ?? []).map(({ children }) => String(children?.[0]?.value)))
  return [...names].flatMap((name) => {
    const list = propertyOf(hooks, name)
    return list === undefined ? [] : [[name, list] as [string, Node]]
  })
}

/** The text with exactly these entries of ours: what is there already stays where it is, what is new comes last. */
export function withEntries(before: string, agent: string, shape: Shape, entries: readonly Entry[]): string {
  let text = before
  eventsOf(parseJson(text))
  for (const [name, value] of Object.entries(shape.root))
    if (nodeAt(parseJson(text), [name]) === undefined) text = addProperty(text, [], name, value)
  for (const entry of entries) {
    checkList(text, entry.event)
    const found = findOurs(text, agent, shape).find(({ event }) => event === entry.event)
    text =
      found === undefined
        ? append(text, ['hooks', entry.event], itemOf(entry, shape))
        : updated(text, found, entry, shape)
  }
  const isSurplus = ({ event }: Found, index: number, all: Found[]): boolean =>
    !entries.some((entry) => entry.event === event) || all.findIndex((other) => other.event === event) < index
  text = dropped(text, findOurs(text, agent, shape).filter(isSurplus), () => false)
  return text
}

/** The text without any entry of ours, nor what was made to hold them; `existed` says what was there before. */
export function withoutEntries(
  text: string,
  agent: string,
  shape: Shape,
  existed: (path: JsonPath) => boolean,
): string {
  return dropped(text, findOurs(text, agent, shape), existed)
}

function dropped(before: string, found: readonly Found[], existed: (path: JsonPath) => boolean): string {
  let text = before
  // From the last, so that the places of the others stay as they are.
  for (const { event, whole } of found.toReversed()) {
    text = removeAt(text, whole)
    const isEmpty = (path: JsonPath): boolean => nodeAt(parseJson(text), path)?.children?.length === 0
    if (whole.length > 3 && isEmpty(whole.slice(0, 4))) text = removeAt(text, whole.slice(0, 3))
    for (const path of [['hooks', event], ['hooks']])
      if (isEmpty(path) && !existed(path)) text = removeAt(text, path)
  }
  return text
}

/** In a group that others share, their matcher stays. */
function updated(text: string, found: Found, entry: Entry, shape: Shape): string {
  const item = found.whole === found.path && shape.kind === 'groups' ? entry.handler : itemOf(entry, shape)
  return isDeepStrictEqual(found.value, item) ? text : replaceAt(text, found.whole, item)
}

function itemOf({ matcher, handler }: Entry, { kind }: Shape): Record<string, unknown> {
  const matching = matcher === undefined ? {} : { matcher }
  return kind === 'flat' ? { ...handler, ...matching } : { ...matching, hooks: [handler] }
}

function checkList(text: string, event: string): void {
  const list = nodeAt(parseJson(text), ['hooks', event])
  if (list !== undefined && list.type !== 'array')
    throw new StintError('SETTINGS_INVALID', `\`hooks.${event}\` is not a list`)
}
