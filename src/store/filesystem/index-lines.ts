import { sealed, unsealed } from '../../journal/record.ts'
import { parseHolder } from '../holder.ts'
import { type Holder, type SessionSummary, sessionStates } from '../store.ts'

/**
 * The lines of the index. A session is touched before it is taken, with a token and the epoch that is tried for; a row tells how it was found at rest, and
 * counts only if its token is still the last one: whoever looked before somebody else touched it says nothing about it any more. `base` begins a file that has
 * taken the place of another.
 */
export type IndexLine =
  | { touched: TouchedRow[] }
  | { rest: IndexRow[] }
  | { base: IndexRow[]; touched: TouchedRow[]; from: string; at: number }

/** Until its lock has come to this epoch, whoever touched it may be about to take it, and no look at it lasts. */
export type TouchedRow = [id: string, token: string, epoch: number]

/** A session at rest, in as few bytes as possible: ten thousand of them are read at once. */
export type IndexRow = [
  id: string,
  token: string,
  state: string,
  createdAt: number,
  lastAt: number,
  turns: number,
  records: number,
  bytes: number,
  store: string,
  tool: string | null,
  title: string | null,
  workspace: string | null,
  holder: Holder | null,
]

export const encodeIndexLine = (line: IndexLine): string => `${sealed(JSON.stringify(line).slice(0, -1))}\n`

interface Touched {
  token: string
  epoch: number
}

/** Of a session that nobody has touched since the index began. */
const untouched: Touched = { token: '', epoch: 0 }

/** What the lines of an index add up to, in their order. */
export class IndexFold {
  readonly #touched = new Map<string, Touched>()
  readonly #rows = new Map<string, IndexRow>()
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
    if ('rest' in line) for (const row of line.rest) this.#settle(row)
    if (!('base' in line)) return
    this.replaces = { name: line.from, at: line.at }
    for (const row of line.base) {
      this.#touched.set(row[0], { token: row[1], epoch: 0 })
      this.#settle(row)
    }
  }

  touchedOf(id: string): Touched {
    return this.#touched.get(id) ?? untouched
  }

  rowOf(id: string): IndexRow | undefined {
    return this.#rows.get(id)
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

  #settle(row: IndexRow): void {
    this.taken += 1
    if (this.touchedOf(row[0]).token === row[1]) this.#rows.set(row[0], row)
  }
}

function parseLine(bytes: Buffer): IndexLine | undefined {
  const text = unsealed(bytes)
  if (text === undefined) return undefined
  try {
    const line = JSON.parse(`${text.toString()}}`) as Record<string, unknown>
    const { touched = [], rest = [], base = [] } = line
    if (!allRows(touched, isTouched) || !allRows(rest, isKeyed) || !allRows(base, isKeyed)) return undefined
    if ('base' in line && (typeof line.from !== 'string' || !Number.isSafeInteger(line.at))) return undefined
    return line as IndexLine
  } catch {
    return undefined
  }
}

const allRows = (rows: unknown, isOne: (row: unknown) => boolean): boolean =>
  Array.isArray(rows) && rows.every(isOne)
const isKeyed = (row: unknown): boolean =>
  Array.isArray(row) && typeof row[0] === 'string' && typeof row[1] === 'string'
const isTouched = (row: unknown): boolean => isKeyed(row) && Number.isSafeInteger((row as TouchedRow)[2])

export const rowFor = (
  token: string,
  {
    id,
    state,
    createdAt,
    lastAt,
    turns,
    records,
    bytes,
    store,
    tool,
    title,
    workspace,
    holder,
  }: SessionSummary,
): IndexRow => [
  id,
  token,
  state,
  createdAt,
  lastAt,
  turns,
  records,
  bytes,
  store,
  tool ?? null,
  title ?? null,
  workspace ?? null,
  holder ?? null,
]

/** Undefined for a row that makes no sense: then its session is looked at. */
export function summaryIn(row: IndexRow): SessionSummary | undefined {
  const [id, , state, createdAt, lastAt, turns, records, bytes, store, tool, title, workspace, holder] = row
  if (!isCount(createdAt) || !isCount(lastAt) || !isCount(turns) || !isCount(records) || !isCount(bytes))
    return undefined
  if (!isText(tool) || !isText(title) || !isText(workspace) || typeof store !== 'string') return undefined
  const known = sessionStates.find((each) => each === state)
  const held = holder === null ? undefined : parseHolder(holder, holder.epoch)
  if (known === undefined || (holder !== null && held === undefined)) return undefined
  return {
    id,
    store,
    state: known,
    tool: tool ?? undefined,
    title: title ?? undefined,
    workspace: workspace ?? undefined,
    createdAt,
    lastAt,
    turns,
    records,
    bytes,
    holder: held,
  }
}

const isCount = (value: unknown): value is number => Number.isFinite(value)
const isText = (value: unknown): boolean => value === null || typeof value === 'string'
