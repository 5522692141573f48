import { isDeepStrictEqual } from 'node:util'
import { parse } from 'smol-toml'
import { StintError } from '../../base/errors/stint-error.ts'
import { objectOr } from '../../hooks/install/json/parse.ts'
import { parseToml } from '../../hooks/install/settings/parse-toml.ts'
import type { SettingsPart } from '../../hooks/install/change.ts'
import { ownStart, readStart, serverName, type ServerStart } from './server-entry.ts'

const list = 'mcp_servers'
const name = `${list}.${serverName}`

/** The server in a TOML file, as the table `[mcp_servers.stint]`; a new one also has the lines in `extra`. */
export const tomlServer = (start: ServerStart, extra: readonly string[]): SettingsPart => ({
  word: serverName,
  emptyText: '',
  isIn: (text) => readStart(tomlEntry(text)) !== undefined,
  addTo: (text) => withServer(text, start, extra),
  removeFrom: withoutServer,
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
function withoutServer(text: string): string {
  const isOurs = ({ path }: WrittenTable): boolean => path[0] === list && path[1] === serverName
  let now = text
  for (const { header, pairs } of tablesOf(text).filter(isOurs).toReversed()) {
    const end = now.indexOf('\n', pairs.at(-1)?.to ?? header.to)
    const to = end < 0 ? now.length : end + 1
    const head = now.slice(0, header.from).replace(/(?:(^|\n)\r?\n)?[ \t]*$/, '$1')
    now = head + now.slice(to)
  }
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

/** A table of a TOML file as it is written: its header, and the pairs of keys and values below it. */
interface WrittenTable {
  path: string[]
  header: Offsets
  pairs: Offsets[]
}

/** Offsets in the text. */
interface Offsets {
  from: number
  to: number
}

const token =
  /(?<string>"""(?:\\[^]|[^\\])*?"{3,5}|'''[^]*?'{3,5}|"(?:\\.|[^"\\\n])*"|'[^'\n]*')|(?<open>[[{])|(?<close>[\]}])|(?<comment>#[^\n]*)|(?<line>\n)|(?<blank>[ \t\r]+)|[^]/g

/** The tables of a valid TOML file that have a header of their own, in the order of the file. */
function tablesOf(text: string): WrittenTable[] {
  const tables: WrittenTable[] = []
  for (const span of statementsOf(text)) {
    if (text[span.from] === '[') tables.push({ path: pathOf(text, span), header: span, pairs: [] })
    else tables.at(-1)?.pairs.push(span)
  }
  return tables
}

/** Headers and pairs. A pair can have many lines: those of its strings, lists and inline tables. */
function statementsOf(text: string): Offsets[] {
  const statements: Offsets[] = []
  let now: Offsets | undefined
  let depth = 0
  for (const { groups = {}, index, 0: all } of text.matchAll(token)) {
    if (groups.line !== undefined && depth === 0) now = undefined
    if (groups.line ?? groups.blank ?? groups.comment) continue
    if (groups.open !== undefined) depth += 1
    if (groups.close !== undefined) depth -= 1
    if (now === undefined) statements.push((now = { from: index, to: index }))
    now.to = index + all.length
  }
  return statements
}

/** The names in a header, `[a."b".c]` or `[[a.b]]`. */
function pathOf(text: string, { from, to }: Offsets): string[] {
  const names: string[] = []
  let at: unknown = parse(text.slice(from, to))
  for (;;) {
    if (Array.isArray(at)) at = at[0]
    const [entry] = Object.entries(objectOr(at))
    if (entry === undefined) return names
    names.push(entry[0])
    at = entry[1]
  }
}
