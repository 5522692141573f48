import { StintError } from '../../base/errors/stint-error.ts'
import {
  type CutBytes,
  codecs,
  factsOf,
  type HeldMedium,
  type Holder,
  isSameEnd,
  type LogEnd,
  type LogEnds,
  type LogGroup,
  type LogName,
  lostRecords,
  type Manifest,
  type Revision,
  sessionClosed,
  sessionFenced,
  UncertainAppend,
} from '../../session/index.ts'
import { type Database, untilOnDisk } from '../database.ts'
import type { SqlRow } from '../pool.ts'
import { isUncertain, sqlState } from '../postgres-errors.ts'
import { ReadableRows } from './readable-rows.ts'
import { type AcquiredSessionRow, releaseSessionRow, undoAcquireSessionRow } from './session-hold.ts'
import { manifestColumn, parseSessionRow, reviseStatement, selectSessionRows } from './session-row.ts'

interface HeldRowsOptions {
  database: Database
  acquired: AcquiredSessionRow
  manifest: Manifest
  /** It was just created. */
  isNew: boolean
}

const columns = {
  journal: { seq: 'head_seq', sum: 'head_sum' },
  audit: { seq: 'audit_seq', sum: 'audit_head' },
} as const

/**
 * Adds lines in one statement, which is one transaction. Its first part is the fence: the row of the session
 * changes only if the writer still holds it and knows where the log ends, and without that row nothing is
 * inserted.
 */
const appendSql = (log: LogName): string => {
  const { seq, sum } = columns[log]
  const activity = log === 'journal' ? 'last_at = to_timestamp($8::float8 / 1000),' : ''
  return `WITH held AS (
    UPDATE stint.session SET ${seq} = $4, ${sum} = $5, ${activity} bytes = bytes + $6, beat = clock_timestamp()
    WHERE key = $1 AND token = $2 AND ${seq} = $3 AND removed_at IS NULL
    RETURNING key
  ), added AS (
    INSERT INTO stint.${log} (session, seq, line) SELECT held.key, $3::bigint + new.nth, new.line
    FROM held, unnest($7::text[]) WITH ORDINALITY AS new (line, nth)
  ) SELECT ${untilOnDisk} FROM held`
}

const maxContradictions = 5

/**
 * A session in PostgreSQL, held for writing. Each append names the record after which it writes. So it can be
 * sent again when its answer was lost: either it is carried out now, or the holder finds that it was carried
 * out before.
 */
export class HeldRows extends ReadableRows implements HeldMedium {
  readonly #options: HeldRowsOptions
  #manifest: Manifest
  #isBegun = false
  #isReleased = false
  /** After the last lines that are known to be added. */
  #ends: LogEnds
  /** The ends of appends that failed without an answer: at most one of each log was carried out. */
  #uncertain: { log: LogName; end: LogEnd }[] = []
  /** Why nothing more can be written. */
  #stopped: unknown

  constructor(options: HeldRowsOptions) {
    const { database, acquired, manifest } = options
    super((sql, ...values) => database.retry(() => database.query(sql, ...values)), acquired.row, manifest)
    this.#options = options
    this.#manifest = manifest
    this.#ends = acquired.row.ends
  }

  override get manifest(): Manifest {
    return this.#manifest
  }

  get epoch(): number {
    return this.row.epoch
  }

  get previous(): Holder | undefined {
    return this.#options.isNew ? undefined : this.#options.acquired.before.holder
  }

  get damage(): string | undefined {
    return this.row.damage
  }

  /** A transaction leaves nothing behind its end. */
  async begin(): Promise<CutBytes[]> {
    this.#isBegun = true
    return []
  }

  async append(log: LogName, group: LogGroup): Promise<LogEnd> {
    for (let tries = 0; tries < maxContradictions; tries++) {
      if (this.#stopped !== undefined) throw this.#stopped
      const end = await this.#send(log, group)
      if (end !== undefined) return this.#moveTo(log, end)
    }
    throw new Error(`the server gave contradictory answers ${maxContradictions} times for one append`)
  }

  /** Returns where the log ends then; undefined if nothing was carried out, and another try may succeed. */
  async #send(log: LogName, group: LogGroup): Promise<LogEnd | undefined> {
    const { database, acquired } = this.#options
    const { lines, end, lastAt } = group
    const rows = lines.toString().split('\n').slice(0, -1)
    const activity = log === 'journal' ? [lastAt] : []
    const values = [end.seq, end.sum, lines.length, rows, ...activity]
    // A try whose answer was lost may have been carried out, whatever the later tries say.
    let mayBeThere = false
    const send = (): Promise<SqlRow[]> =>
      database
        .write(appendSql(log), this.row.key, acquired.token, this.#ends[log].seq, ...values)
        .catch((error: unknown) => {
          mayBeThere ||= isUncertain(error)
          throw error
        })
    try {
      const changed = await database.retry(send)
      if (changed.length > 0) return end
      // No row has changed: an earlier try was carried out, or another process has the session, or an append
      // that was given up on was carried out after all.
      mayBeThere = true
      return await this.#lookUp(log, end)
    } catch (error) {
      if (error === this.#stopped) throw error
      if (!mayBeThere || sqlState(error) === '23505') throw this.#explain(error)
      this.#uncertain.push({ log, end })
      throw new UncertainAppend(fateUnknown(this.row.id, error))
    }
  }

  /** Reads where the log ends: at one of the ends that were sent, or where this holder knows it to. */
  async #lookUp(log: LogName, sent: LogEnd): Promise<LogEnd | undefined> {
    const { database, acquired } = this.#options
    const { key, id } = this.row
    const candidates = [sent, ...this.#uncertain.filter((each) => each.log === log).map(({ end }) => end)]
    const [found] = await database.retry(() => database.query(selectSessionRows('key = $1'), key))
    const now = found === undefined ? undefined : parseSessionRow(found)
    if (now?.token !== acquired.token) {
      this.#stopped = sessionFenced(id)
      if (await isCommitted(database, key, log, sent)) return sent
      throw this.#stopped
    }
    const end = now.ends[log]
    if (isSameEnd(end, this.#ends[log])) return undefined
    const isKnown = candidates.some((each) => isSameEnd(each, end))
    if (!isKnown) throw (this.#stopped = lostRecords(id, log, this.#ends[log].seq, end.seq))
    // The server that had it may have failed meanwhile, before its standby had it, too.
    return (await isCommitted(database, key, log, end)) ? end : undefined
  }

  #moveTo(log: LogName, end: LogEnd): LogEnd {
    this.#ends = { ...this.#ends, [log]: end }
    this.#uncertain = this.#uncertain.filter((each) => each.log !== log)
    return end
  }

  /** A unique violation means that the log has rows after the end that the session's row names. */
  #explain(error: unknown): unknown {
    if (sqlState(error) !== '23505') return error
    this.#stopped = new StintError('JOURNAL_CORRUPT', `session ${this.row.id} has records beyond its end`, {
      cause: error,
      hint: 'Remove the rows that stint did not write, or restore the session from a backup.',
    })
    return this.#stopped
  }

  async putBlob(sha256: string, content: Uint8Array): Promise<void> {
    const text = Buffer.from(content.buffer, content.byteOffset, content.length).toString()
    await this.#writeHeld(
      `INSERT INTO stint.blob (session, sha256, content) SELECT held.key, $3, $4 FROM held
      ON CONFLICT DO NOTHING`,
      sha256,
      text,
    )
  }

  async saveState(texts: ReadonlyMap<string, string>): Promise<void> {
    await this.#writeHeld(
      `INSERT INTO stint.state (session, name, content)
      SELECT held.key, new.name, new.content FROM held, unnest($3::text[], $4::text[]) AS new (name, content)
      ON CONFLICT (session, name) DO UPDATE SET content = excluded.content`,
      [...texts.keys()],
      [...texts.values()],
    )
  }

  /** Runs a statement that writes rows of the session, only while this process holds it. */
  async #writeHeld(sql: string, ...values: unknown[]): Promise<void> {
    const { database, acquired } = this.#options
    if (this.#stopped !== undefined) throw this.#stopped
    const held = `WITH held AS (
        UPDATE stint.session SET beat = clock_timestamp()
        WHERE key = $1 AND token = $2 AND removed_at IS NULL RETURNING key
      ), written AS (${sql}) SELECT ${untilOnDisk} FROM held`
    const rows = await database.retry(() => database.write(held, this.row.key, acquired.token, ...values))
    if (rows.length === 0) throw this.#stop(sessionFenced(this.row.id))
  }

  async saveManifest(manifest: Manifest): Promise<void> {
    const { database, acquired } = this.#options
    if (this.#stopped !== undefined) throw this.#stopped
    const latest = manifest.revisions.at(-1) as Revision
    const statement = reviseStatement(this.row.key, acquired.token, {
      rev: latest.rev,
      body: JSON.stringify(latest),
      manifest: manifestColumn(manifest),
      facts: factsOf(manifest),
    })
    const [result] = await database.retry(() => database.write(...statement))
    if (result?.revised !== true) throw this.#stop(sessionFenced(this.row.id))
    this.#manifest = manifest
  }

  async beat(): Promise<void> {
    const { database, acquired } = this.#options
    const [held] = await database.write(
      'UPDATE stint.session SET beat = clock_timestamp() WHERE key = $1 AND token = $2 RETURNING key',
      this.row.key,
      acquired.token,
    )
    if (held === undefined && !this.#isReleased) throw this.#stop(sessionFenced(this.row.id))
  }

  async release(): Promise<void> {
    if (this.#isReleased) return
    const { database, acquired, isNew } = this.#options
    this.#stop(sessionClosed())
    if (this.#isBegun) await releaseSessionRow(database, acquired.row, acquired.token)
    else if (isNew)
      await database.write(
        'UPDATE stint.session SET removed_at = clock_timestamp() WHERE key = $1 AND token = $2',
        this.row.key,
        acquired.token,
      )
    else await database.retry(() => undoAcquireSessionRow(database, acquired))
    this.#isReleased = true
  }

  #stop(reason: StintError): StintError {
    this.#stopped ??= reason
    return reason
  }
}

/**
 * Was an append that ends here carried out? Reading does not tell whether the synchronous standby has it, and
 * the standby may be the server that answers next. So the statement also locks the row of the session, which
 * is the smallest write: when the standby has that, it has everything before it.
 */
async function isCommitted(database: Database, key: string, log: LogName, end: LogEnd): Promise<boolean> {
  const sql = `SELECT log.line, ${untilOnDisk} FROM stint.${log} AS log JOIN stint.session AS session
    ON session.key = log.session WHERE session.key = $1 AND log.seq = $2 FOR UPDATE OF session`
  const [row] = await database.retry(() => database.write(sql, key, end.seq))
  return row !== undefined && codecs[log].sumOf(Buffer.from(String(row.line))) === end.sum
}

/** The error of an append without an answer: not retryable, as a second try might record it twice. */
const fateUnknown = (id: string, error: unknown): unknown =>
  error instanceof StintError
    ? new StintError(error.code, `${error.message}; the records may be in session ${id}`, {
        ...error.options,
        retryable: false,
        hint: 'When the server answers again, see whether they are there: `stint sessions tail` shows the newest.',
      })
    : error
