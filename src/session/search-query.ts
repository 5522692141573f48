import { StintError } from '../base/errors/stint-error.ts'
import type { StoredRecord } from './log/record.ts'
import { eventOf, isVisible } from './inspection.ts'

/** Where a pattern was found in a record. */
export interface Match {
  /** `type`, or the path of the value or key: `data.items[3].name`. */
  path: string
  /** The text around the match, on one line. */
  excerpt: string
}

/** What a driver finds: the record, and where in it. */
export interface FoundRecord extends Match, Pick<StoredRecord, 'seq' | 'at' | 'type'> {}

/**
 * A search for a text or a regular expression in the strings, numbers and keys of records. Stored lines are
 * JSON, in which a text may have escapes: `needles` are the forms in which it can stand in a line.
 */
export class SearchQuery {
  /** A record matches only if its line has one of these strings; undefined for a regular expression. */
  readonly needles: readonly string[] | undefined
  /** The text, if it may also have been typed as JSON shows it: with quotes or backslashes. */
  readonly #json: string | undefined
  /** Where the first match begins; -1 if there is none. */
  readonly #find: (text: string) => number

  /** Records of an earlier time do not match; in milliseconds since the epoch. */
  readonly since: number
  readonly #type: string | undefined

  /** `ARG_ERROR` for an empty pattern. */
  constructor(pattern: string | RegExp, { since = 0, type }: { since?: number; type?: string } = {}) {
    this.since = since
    this.#type = type
    if (typeof pattern === 'string') {
      if (pattern === '') throw new StintError('ARG_ERROR', 'the text to search for is empty')
      const escaped = jsonForm(pattern)
      this.#json = escaped === pattern || hasControlCharacter(pattern) ? undefined : pattern
      this.needles = this.#json === undefined ? [escaped] : [escaped, this.#json]
      this.#find = (text) => text.indexOf(pattern)
    } else {
      // Without `g` and `y`: they make a regular expression remember where it stopped.
      const regex = new RegExp(pattern.source, pattern.flags.replaceAll(/[gy]/g, ''))
      this.#find = (text) => regex.exec(text)?.index ?? -1
    }
  }

  /** Can a record match, by its time and type? stint's own records can if their type is asked for. */
  wants(record: Pick<StoredRecord, 'at' | 'type'>): boolean {
    return record.at >= this.since && isVisible(record, this.#type, false)
  }

  /** Looks into the type and the data of a record. */
  inRecord(record: Omit<StoredRecord, 'seq'>): Match | undefined {
    const { type, data } = eventOf({ seq: 0, ...record })
    const json = this.#json
    return (
      this.#inText(type, 'type') ??
      this.#inValue(data) ??
      (json === undefined ? undefined : inJson(JSON.stringify(data) ?? '', json))
    )
  }

  /** Can the JSON of data match, by its bytes? */
  mayBeIn(json: Buffer): boolean {
    return this.needles === undefined || this.needles.some((needle) => json.includes(needle))
  }

  #inText(text: string, path: string): Match | undefined {
    const start = this.#find(text)
    return start < 0 ? undefined : { path, excerpt: excerptOf(text, start) }
  }

  /** Walks the data in the order of its JSON. No recursion: data may be nested thousands of levels deep. */
  #inValue(data: unknown): Match | undefined {
    const members: Member[] = [{ path: 'data', value: data }]
    for (let next = members.pop(); next !== undefined; next = members.pop()) {
      const { path, value, key } = next
      const isLeaf = typeof value !== 'object' || value === null
      const match =
        (key === undefined ? undefined : this.#inText(key, path)) ??
        (isLeaf ? this.#inText(String(value), path) : undefined)
      if (match !== undefined) return match
      if (!isLeaf) for (const member of membersOf(value, path).toReversed()) members.push(member)
    }
    return undefined
  }
}

/** A value in the data of a record; `key` is its name in an object. */
interface Member {
  path: string
  value: unknown
  key?: string
}

const membersOf = (value: object, path: string): Member[] =>
  Array.isArray(value)
    ? value.map((item: unknown, i) => ({ path: `${path}[${i}]`, value: item }))
    : Object.entries(value).map(([key, item]) => ({
        path: /^[A-Za-z_$][\w$]*$/.test(key) ? `${path}.${key}` : `${path}[${JSON.stringify(key)}]`,
        value: item as unknown,
        key,
      }))

/** A string as it stands in a line, without its quotes. */
const jsonForm = (text: string): string =>
  JSON.stringify(text)
    .slice(1, -1)
    .replaceAll('\u2028', String.raw`\u2028`)
    .replaceAll('\u2029', String.raw`\u2029`)

/** JSON never has these as they are. */
const hasControlCharacter = (text: string): boolean => [...text].some((char) => char < ' ')

function inJson(json: string, wanted: string): Match | undefined {
  const start = json.indexOf(wanted)
  return start < 0 ? undefined : { path: 'data', excerpt: excerptOf(json, start) }
}

/** How many characters an excerpt has before the match, and in all. */
const excerptChars = { before: 40, all: 160 }

/** The text around a match, in one line. An ellipsis stands for what was cut off. */
function excerptOf(text: string, start: number): string {
  const from = Math.max(0, start - excerptChars.before)
  const to = Math.min(text.length, from + excerptChars.all)
  const part = text.slice(from, to).replaceAll(/\s+/g, ' ')
  return `${from === 0 ? '' : '…'}${part}${to === text.length ? '' : '…'}`
}
