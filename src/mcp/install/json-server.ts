import { isDeepStrictEqual } from 'node:util'
import { getNodeValue, type Node } from 'jsonc-parser'
import { StintError } from '../../base/errors/stint-error.ts'
import { addProperty, removeAt, replaceAt } from '../../hooks/install/json/edit.ts'
import { hasComment, nodeAt, parseJson } from '../../hooks/install/json/parse.ts'
import type { SettingsPart } from '../../hooks/install/change.ts'
import { ownStart, readStart, serverName, type ServerStart } from './server-entry.ts'

const list = ['mcpServers']
const path = [...list, serverName]

/** The server in a JSON file, below `mcpServers`; a new entry also has the properties in `extra`. */
export const jsonServer = (start: ServerStart, extra: Readonly<Record<string, unknown>>): SettingsPart => ({
  word: serverName,
  emptyText: '{}\n',
  isIn: (text) => readStart(jsonEntry(text)) !== undefined,
  addTo: (text) => withServer(text, start, extra),
  removeFrom(text) {
    const left = removeAt(text, path)
    const isEmpty = nodeAt(parseJson(left), list)?.children?.length === 0
    return isEmpty ? removeAt(left, list) : left
  },
  isBlank: (text) => parseJson(text).children?.length === 0 && !hasComment(text),
})

/** The entry of the name, whatever it starts; undefined if there is none. */
export function jsonEntry(text: string): unknown {
  const node = nodeAt(checked(text), path)
  return node === undefined ? undefined : (getNodeValue(node) as unknown)
}

/** An entry that is there keeps its place, its other properties and the options of the server. */
function withServer(
  text: string,
  { command, args }: ServerStart,
  extra: Readonly<Record<string, unknown>>,
): string {
  const own = ownStart(jsonEntry(text), path.join('.'))
  if (own === undefined) {
    const entry = { ...extra, command, args }
    return nodeAt(checked(text), list) === undefined
      ? addProperty(text, [], 'mcpServers', { [serverName]: entry })
      : addProperty(text, list, serverName, entry)
  }
  const allArgs = [...args, ...own.options]
  const now = own.command === command ? text : replaceAt(text, [...path, 'command'], command)
  return isDeepStrictEqual(own.args, allArgs) ? now : replaceAt(now, [...path, 'args'], allArgs)
}

/** The tree of the file; throws if it or `mcpServers` is not an object. */
function checked(text: string): Node {
  const root = parseJson(text)
  if (root.type !== 'object') throw new StintError('SETTINGS_INVALID', 'its JSON is not an object')
  if ((nodeAt(root, list)?.type ?? 'object') !== 'object')
    throw new StintError('SETTINGS_INVALID', '`mcpServers` is not an object')
  return root
}
