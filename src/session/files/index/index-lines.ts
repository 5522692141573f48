import { withChecksum, verifiedText } from '../../log/line-checksum.ts'
import { parseHolder } from '../../holder.ts'
import { sessionStates, type SessionSummary } from '../../store.ts'

/**
 * The lines of the index. A session is touched before it is taken, with a token and the epoch that is tried for; a row of `rest` tells how it was found at rest, and
 * counts only if its token is still the last one: whoever looked before somebody else touched it says nothing about it any more. `base` begins a file that has
 * taken the place of another.
 */
export type IndexLine =
  | { touched: TouchedRow[] }
  | { rest: SessionSummary[]; tokens: string[] }
  | { base: SessionSummary[]; touched: TouchedRow[]; from: string; at: number }

/** Until its lock has come to this epoch, whoever touched it may be about to take it, and no look at it lasts. */
export type TouchedRow = [id: string, token: string, epoch: number]

export const encodeIndexLine = (line: IndexLine): string =>
  `${withChecksum(JSON.stringify(line).slice(0, -1))}\n`

interface Touched {
  token: string
  epoch: number
}

/** Of a session that nobody has touched since the index began. */
const untouched: Touched = { token: '', epoch: 0 }

/** What the lines of an index add up to, in their order. Rows are kept as they were read: there may be ten thousand of them. */
export class IndexFold {
  readonly #touched = new Map<string, Touched>()
  readonly #rows = new Map<string, SessionSummary>()
  /** How many rows there were, with those that do not count any more. */
  taken = 0
  /** The file that this one has taken the place of, and how much of it is in here. */
  replaces: { name: string; at: number } | undefined

  /** False if one of them is not what was written: it may have been a touch, and all of it is worth nothing. */
  takeAll(bytes: Buffer): boolean {
    for (let start = 0; start < bytes.length;) {
      const end = bytes.indexOf(0x0a, start)
      if (end < 0) return false
      const line = parseLine(bytes.subarray(start, end))
      if (line === undefined) return false
      this.take(line)
      start = end + 1
    }
    return true
  }

  take(line: IndexLine): void {
    if ('touched' in line) for (const row of line.touched) this.#touch(row)
    if ('rest' in line) line.rest.forEach((row, i) => this.#takeRow(row, line.tokens[i] ?? untouched.token))
    if (!('base' in line)) return
    this.replaces = { name: line.from, at: line.at }
    for (const row of line.base) this.#takeRow(row, untouched.token)
  }

  touchedOf(id: string): Touched {
    return this.#touched.get(id) ?? untouched
  }

  /** The sessions at rest, by their ids. */
  get rows(): ReadonlyMap<string, SessionSummary> {
    return this.#rows
  }

  /** All that were touched; with a row or not. */
  touched(): TouchedRow[] {
    return [...this.#touched].map(([id, { token, epoch }]) => [id, token, epoch])
  }

  #touch([id, token, epoch]: TouchedRow): void {
    this.taken += 1
    this.#touched.set(id, { token, epoch: Math.max(epoch, this.touchedOf(id).epoch) })
    this.#rows.delete(id)
  }

  #takeRow(row: SessionSummary, token: string): void {
    this.taken += 1
    if (this.touchedOf(row.id).token === token) this.#rows.set(row.id, row)
  }
}

function parseLine(bytes: Buffer): IndexLine | undefined {
  if (verifiedText(bytes) === undefined) return undefined
  try {
    const line = JSON.parse(bytes.toString()) as Record<string, unknown>
    const { touched = [], rest = [], tokens = [], base = [] } = line
    if (!allOf(touched, isTouched) || !allOf(tokens, isText)) return undefined
    if (!allOf(rest, isSummary) || !allOf(base, isSummary)) return undefined
    if ('base' in line && !(isText(line.from) && isCount(line.at))) return undefined
    return line as IndexLine
  } catch {
    return undefined
  }
}

const allOf = (values: unknown, isOne: (value: unknown) => boolean): boolean =>
  Array.isArray(values) && values.every(isOne)

const isTouched = (row: unknown): boolean =>
  Array.isArray(row) && isText(row[0]) && isText(row[1]) && isCount(row[2])

function isSummary(value: unknown): boolean {
  const row = value as SessionSummary
  if (!isText(row.id) || !isText(row.store) || !sessionStates.includes(row.state)) return false
  if (!isCount(row.createdAt) || !isCount(row.lastAt) || !isCount(row.bytes)) return false
  if (!isCount(row.turns) || !isCount(row.records)) return false
  if (!isTextOrNone(row.tool) || !isTextOrNone(row.title) || !isTextOrNone(row.workspace)) return false
  return row.holder === undefined || parseHolder(row.holder, row.holder.epoch) !== undefined
}

const isText = (value: unknown): boolean => typeof value === 'string'
const isTextOrNone = (value: unknown): boolean => value === undefined || typeof value === 'string'
const isCount = (value: unknown): boolean => Number.isSafeInteger(value)
