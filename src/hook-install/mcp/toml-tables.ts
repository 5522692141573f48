import { parse, TomlError } from 'smol-toml'
import { StintError } from '../../base/errors/stint-error.ts'
import { type JsonObject, objectOr } from '../json/parse.ts'

/** Parses TOML; throws `SETTINGS_INVALID` with line and column. */
export function parseToml(text: string): JsonObject {
  try {
    return parse(text, { integersAsBigInt: 'asNeeded' })
  } catch (error) {
    if (!(error instanceof TomlError)) throw error
    const [reason = ''] = error.message.split('\n')
    const { line, column } = error
    throw new StintError('SETTINGS_INVALID', `${reason} in line ${line}, column ${column}`, {
      detail: `line=${line} column=${column}`,
      cause: error,
    })
  }
}

/** A table of a TOML file as it is written: its header, and the pairs of keys and values below it. */
export interface WrittenTable {
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
export function tablesOf(text: string): WrittenTable[] {
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
