import { isDeepStrictEqual } from 'node:util'
import { StintError } from '../../base/errors/stint-error.ts'
import { objectOr } from '../json/parse.ts'
import type { SettingsPart } from '../settings/change-settings.ts'
import { ownStart, readStart, serverName, type ServerStart } from './server-entry.ts'
import { parseToml, tablesOf, type WrittenTable } from './toml-tables.ts'

const list = 'mcp_servers'
const name = `${list}.${serverName}`

/** The server in a TOML file, as the table `[mcp_servers.stint]`; a new one also has the lines in `extra`. */
export const tomlServer = (start: ServerStart, extra: readonly string[]): SettingsPart => ({
  name: 'mcp',
  word: serverName,
  emptyText: '',
  isIn: (text) => readStart(tomlEntry(text)) !== undefined,
  addTo: (text) => withServer(text, start, extra),
  removeFrom: (text, before) => withoutServer(text, before),
  isBlank: (text) => text.trim() === '',
})

/** The entry of the name, whatever it starts; undefined if there is none. */
export const tomlEntry = (text: string): unknown => objectOr(parseToml(text)[list])[serverName]

/** A table that is there keeps its place, its other lines and the options of the server. */
function withServer(text: string, start: ServerStart, extra: readonly string[]): string {
  const own = ownStart(tomlEntry(text), name)
  if (own === undefined) return appended(text, start, extra)
  const args = [...start.args, ...own.options]
  let now = text
  if (own.command !== start.command) now = withValue(now, 'command', start.command)
  if (!isDeepStrictEqual(own.args, args)) now = withValue(now, 'args', args)
  return expected(text, now, { ...objectOr(tomlEntry(text)), ...start, args })
}

function appended(text: string, { command, args }: ServerStart, extra: readonly string[]): string {
  const eol = text.includes('\r\n') ? '\r\n' : '\n'
  const lines = [`[${name}]`, pairOf('command', command), pairOf('args', args), ...extra]
  const end = text === '' || text.endsWith('\n') ? '' : eol
  const between = text === '' ? '' : eol
  const now = `${text}${end}${between}${lines.join(eol)}${eol}`
  return expected(text, now, { ...parseToml(extra.join('\n')), command, args })
}

const pairOf = (key: string, value: unknown): string => `${key} = ${JSON.stringify(value)}`

function withValue(text: string, key: string, value: unknown): string {
  const pairs = tablesOf(text).find(({ path }) => path.join('.') === name)?.pairs ?? []
  const pair = pairs.find(({ from, to }) => Object.hasOwn(parseToml(text.slice(from, to)), key))
  return pair === undefined ? text : text.slice(0, pair.from) + pairOf(key, value) + text.slice(pair.to)
}

/** Removes the table and those below it, such as its `env`, each with the blank line before it. */
function withoutServer(text: string, before: string | undefined): string {
  const isOurs = ({ path }: WrittenTable): boolean => path[0] === list && path[1] === serverName
  let now = text
  for (const { header, pairs } of tablesOf(text).filter(isOurs).toReversed()) {
    const end = now.indexOf('\n', pairs.at(-1)?.to ?? header.to)
    const to = end < 0 ? now.length : end + 1
    const head = now.slice(0, header.from).replace(/(?:(^|\n)\r?\n)?[ \t]*$/, '$1')
    now = head + now.slice(to)
  }
  const isLast = text.startsWith(now)
  if (isLast && before !== undefined && !before.endsWith('\n')) now = now.replace(/\r?\n$/, '')
  return expected(text, now, undefined)
}

/** Checks that a change is exactly the one of this entry: a file can have it in a form that is not ours. */
function expected(text: string, now: string, entry: unknown): string {
  const { [list]: servers, ...others } = parseToml(text)
  const { [serverName]: _, ...rest } = objectOr(servers)
  const all = entry === undefined ? rest : { ...rest, [serverName]: entry }
  const { [list]: found, ...left } = parseToml(now)
  // A clone has plain objects: those of the parser have no prototype.
  const [is, should] = structuredClone([
    [left, { ...objectOr(found) }],
    [others, all],
  ])
  if (isDeepStrictEqual(is, should)) return now
  throw new StintError('SETTINGS_INVALID', `\`${list}\` is written in a form that stint does not edit`, {
    hint: `Write it as tables with headers, such as [${list}.NAME], or edit [${name}] by hand.`,
  })
}
