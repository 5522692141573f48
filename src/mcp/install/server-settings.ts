import { basename, isAbsolute } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { getNodeValue } from 'jsonc-parser'
import { stringify } from 'smol-toml'
import { succeeds } from '../../base/errors/if-possible.ts'
import { StintError } from '../../base/errors/stint-error.ts'
import { isString } from '../../base/text/fields.ts'
import {
  hasComment,
  objectOr,
  parseJson,
  parseToml,
  propertyOf,
  removeProperty,
  setProperty,
  type SettingsPart,
} from '../../hooks/index.ts'

/** The name of stint's server in the settings of agents. */
const serverName = 'stint'

/** How an agent starts a server, as its settings say. */
interface ServerStart {
  command: string
  args: string[]
}

/** The start of stint's server; `program` is `['/usr/bin/node', '/…/stint.cjs']` or the like. */
export const serverStart = ([command = '', ...rest]: readonly string[]): ServerStart => ({
  command,
  args: [...rest, 'mcp'],
})

/**
 * The start of the server in an entry of that name; undefined if it starts anything but stint. Only the full
 * path of node may precede stint: others, such as npx, are the user's own choice.
 */
export function readStart(entry: unknown): (ServerStart & { options: string[] }) | undefined {
  const { command, args } = objectOr(entry)
  if (!isString(command) || !Array.isArray(args) || !args.every(isString)) return undefined
  const words = [command, ...args]
  const at = words.findIndex((word) => /^stint(\.c?js)?$/.test(basename(word)))
  if (at < 0 || at > 1 || words[at + 1] !== 'mcp') return undefined
  if (at === 1 && !isAbsolute(command)) return undefined
  return { command, args, options: words.slice(at + 2) }
}

/** What the entry says, if it is stint's; throws `NAME_TAKEN` if another server has the name. */
function ownStart(entry: unknown, name: string): ReturnType<typeof readStart> {
  const start = readStart(entry)
  if (start !== undefined || entry === undefined) return start
  throw new StintError('NAME_TAKEN', `\`${name}\` exists already, and does not start stint as stint does`, {
    hint: 'Remove it or give it another name, then try again.',
  })
}

const jsonList = 'mcpServers'

/** The server in a JSON file, below `mcpServers`; a new entry also has the properties in `extra`. */
export const jsonServer = (start: ServerStart, extra: Readonly<Record<string, unknown>>): SettingsPart => ({
  word: serverName,
  emptyText: '{}\n',
  isIn: (text) => readStart(jsonEntry(text)) !== undefined,
  addTo: (text) => withJsonServer(text, start, extra),
  removeFrom(text) {
    const { [serverName]: _, ...others } = jsonServers(text)
    const isEmpty = Object.keys(others).length === 0
    return isEmpty ? removeProperty(text, jsonList) : setProperty(text, jsonList, others)
  },
  isBlank: (text) => parseJson(text).children?.length === 0 && !hasComment(text),
})

/** The entry of the name, whatever it starts; undefined if there is none. */
export const jsonEntry = (text: string): unknown => jsonServers(text)[serverName]

/** An entry that is there keeps its place, its other properties and the options of the server. */
function withJsonServer(
  text: string,
  { command, args }: ServerStart,
  extra: Readonly<Record<string, unknown>>,
): string {
  const present = jsonEntry(text)
  const own = ownStart(present, `${jsonList}.${serverName}`)
  const known = own === undefined ? extra : objectOr(present)
  const entry = { ...known, command, args: [...args, ...(own?.options ?? [])] }
  if (isDeepStrictEqual(entry, present)) return text
  return setProperty(text, jsonList, { ...jsonServers(text), [serverName]: entry })
}

/** The servers in the file; throws if it or `mcpServers` is not an object. */
function jsonServers(text: string): Record<string, unknown> {
  const root = parseJson(text)
  if (root.type !== 'object') throw new StintError('SETTINGS_INVALID', 'its JSON is not an object')
  const servers = propertyOf(root, jsonList)
  if (servers === undefined) return {}
  if (servers.type !== 'object') throw new StintError('SETTINGS_INVALID', '`mcpServers` is not an object')
  return getNodeValue(servers) as Record<string, unknown>
}

const tomlList = 'mcp_servers'
const tomlName = `${tomlList}.${serverName}`

/** The server in a TOML file, as the table `[mcp_servers.stint]`; a new one also has what is in `extra`. */
export const tomlServer = (start: ServerStart, extra: Readonly<Record<string, unknown>>): SettingsPart => ({
  word: serverName,
  emptyText: '',
  isIn: (text) => readStart(tomlEntry(text)) !== undefined,
  addTo: (text) => withTomlServer(text, start, extra),
  removeFrom: withoutTomlServer,
  isBlank: (text) => text.trim() === '',
})

/** The entry of the name, whatever it starts; undefined if there is none. */
export const tomlEntry = (text: string): unknown => objectOr(parseToml(text)[tomlList])[serverName]

/** Writes the table anew, at the end. An old one keeps its other keys and the options of the server. */
function withTomlServer(
  text: string,
  { command, args }: ServerStart,
  extra: Readonly<Record<string, unknown>>,
): string {
  const own = ownStart(tomlEntry(text), tomlName)
  const allArgs = [...args, ...(own?.options ?? [])]
  if (own?.command === command && isDeepStrictEqual(own.args, allArgs)) return text
  const before = own === undefined ? text : withoutTomlServer(text)
  const entry = { ...(own === undefined ? extra : objectOr(tomlEntry(text))), command, args: allArgs }
  const eol = text.includes('\r\n') ? '\r\n' : '\n'
  const table = stringify({ [tomlList]: { [serverName]: entry } }).replaceAll('\n', eol)
  const end = before === '' || before.endsWith('\n') ? '' : eol
  return expectEntry(text, `${before}${end}${before === '' ? '' : eol}${table}`, entry)
}

/** Removes the table and those below it, such as its `env`, each with the blank line before it. */
function withoutTomlServer(text: string): string {
  let rest = text
  for (const { from, to } of ownTables(text).toReversed())
    rest = rest.slice(0, from).replace(/(^|\n)\r?\n$/, '$1') + rest.slice(to)
  return expectEntry(text, rest, undefined)
}

/** Where the table of the server and those below it are in the text; what precedes the next header is not. */
function ownTables(text: string): { from: number; to: number }[] {
  // A line of a multi-line string can look like a header. The text before a real one is valid by itself.
  const headers = [...text.matchAll(/^[ \t]*\[.*$/gm)].filter(({ index }) =>
    succeeds(() => parseToml(text.slice(0, index))),
  )
  return headers.flatMap(({ 0: header, index: from }, number) => {
    if (!(serverName in objectOr(parseToml(header)[tomlList]))) return []
    const table = text.slice(from, headers[number + 1]?.index)
    // Blank lines and comments at the end stand before the next header, and are about that.
    const pairs = table.replace(/(?:\r?\n[ \t]*(?:#[^\n]*)?)+$/, '')
    const [eol = ''] = /^\r?\n/.exec(table.slice(pairs.length)) ?? []
    return [{ from, to: from + pairs.length + eol.length }]
  })
}

/** Checks that a change is exactly the one of this entry: a file can have it in a form that is not ours. */
function expectEntry(text: string, changed: string, entry: unknown): string {
  const { [tomlList]: servers, ...others } = parseToml(text)
  const { [serverName]: _, ...rest } = objectOr(servers)
  const expected = [others, entry === undefined ? rest : { ...rest, [serverName]: entry }]
  const { [tomlList]: changedServers, ...changedOthers } = parseToml(changed)
  const actual = [changedOthers, { ...objectOr(changedServers) }]
  // A clone has plain objects: those of the parser have no prototype.
  if (isDeepStrictEqual(structuredClone(actual), structuredClone(expected))) return changed
  throw new StintError('SETTINGS_INVALID', `\`${tomlList}\` is written in a form that stint does not edit`, {
    hint: `Write it as tables with headers, such as [${tomlList}.NAME], or edit [${tomlName}] by hand.`,
  })
}
