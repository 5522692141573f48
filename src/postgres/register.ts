import { systemClock } from '../base/process/clock.ts'
import { type Now, type Register, type RegisterEntry, repositoryOf, type Steps } from '../lease/index.ts'
import { postgresActivityLogs } from './activity-logs.ts'
import { Database, milliseconds, type ServerOptions, untilOnDisk } from './database.ts'
import type { PostgresPool, SqlRow } from './pool.ts'
import { isConflict, isTimeout, isUncertain, sqlState } from './postgres-errors.ts'
import { waiterTable } from './waiters.ts'

export interface PostgresRegisterOptions extends ServerOptions {
  /** How often a watcher looks, in milliseconds; 1000 by default. */
  pollMs?: number
}

/** A part of an operation: one or more queries. */
export type PostgresStep = () => Promise<unknown>

/** For this long after a read, the time that it returned counts as the present, in milliseconds. */
const recentMs = 50

/** How long to try to look up a swap whose answer was lost, in milliseconds: a restart takes less. */
const lookUpMs = 5000

/**
 * A register in PostgreSQL: one row a key, and a swap is one conditional statement. The server's clock
 * decides expiry. For a key it never runs backwards, even if the clock is set back: each change is at least a
 * millisecond after the last one.
 *
 * @example
 * const register = postgresRegister({ pool: new pg.Pool({ connectionString }) })
 * await using lease = await acquireLease({ register, resource: 'deploy:prod', sessionId: 'ses_1' })
 */
export function postgresRegister(options: PostgresRegisterOptions): Register<PostgresStep> {
  const { pool, pollMs = 1000 } = options
  const database = new Database({ ...options, patienceMs: lookUpMs })
  const waiters = waiterTable(database)
  const activity = postgresActivityLogs(database)
  const readings = new Map<string, { now: Now; at: number }>()
  let timelineSql = serverTimeline

  /** Reads one row of a key, together with the time. */
  async function readWithTime(key: string, sql: (timeline: string) => string): Promise<SqlRow | undefined> {
    try {
      return (await database.query(sql(timelineSql), key))[0]
    } catch (error) {
      // Other servers with this protocol may have no timeline, or not show it to this role.
      if (timelineSql === noTimeline || !timelineRefused.has(sqlState(error))) throw error
      timelineSql = noTimeline
      return await readWithTime(key, sql)
    }
  }

  async function read(key: string): Promise<RegisterEntry> {
    const row = await readWithTime(key, readSql)
    if (row === undefined) return { epoch: 0, text: undefined }
    readings.set(key, { now: nowOf(row), at: systemClock.mono() })
    return { epoch: Number(row.epoch), text: row.text as string }
  }

  async function swap(key: string, before: RegisterEntry, text: string): Promise<number | undefined> {
    try {
      const [row] = await database.write(...swapStatement(key, before, text))
      return row === undefined ? undefined : Number(row.epoch)
    } catch (error) {
      if (isConflict(error)) return undefined
      if (!isUncertain(error)) throw error
      return await lookUpSwap(key, before, text, error)
    }
  }

  /**
   * Finds out what became of a swap whose answer was lost. No two swaps write the same text: if the key has
   * this one, the swap has won. Otherwise it has lost, or the server carries it out later; in both cases the
   * caller reads again and retries.
   */
  async function lookUpSwap(
    key: string,
    before: RegisterEntry,
    text: string,
    lost: unknown,
  ): Promise<number | undefined> {
    try {
      const found = await database.retry(() => read(key))
      if (found.text !== before.text) {
        // A lock is the smallest write. When the standby has it, it has all that the row shows.
        const [row] = await database.retry(() => database.write(lockSql, key))
        return row?.text === text ? Number(row.epoch) : undefined
      }
    } catch {
      throw lost
    }
    // After a timeout, the swap may still wait for another transaction, or for the standby. A retry would
    // only occupy one more connection.
    if (isTimeout(lost)) throw lost
    return undefined
  }

  async function now(key?: string): Promise<Now> {
    const reading = key === undefined ? undefined : readings.get(key)
    if (key !== undefined) readings.delete(key)
    if (reading !== undefined && systemClock.mono() - reading.at < recentMs) return reading.now
    return nowOf((await readWithTime(key ?? '', nowSql)) ?? {})
  }

  async function remove(key: string, { epoch, text }: RegisterEntry): Promise<boolean> {
    const sql = 'DELETE FROM stint.register WHERE key = $1 AND epoch = $2 AND text = $3 RETURNING epoch'
    if ((await database.write(sql, key, epoch, text)).length === 0) return false
    await activity.remove(key)
    return true
  }

  async function writtenAt(key: string): Promise<number | undefined> {
    const sql = `SELECT ${milliseconds('written_at')} AS at FROM stint.register WHERE key = $1`
    return (await database.query(sql, key))[0]?.at as number | undefined
  }

  async function keys(): Promise<string[]> {
    const rows = await database.query('SELECT key FROM stint.register ORDER BY key')
    return rows.map(({ key }) => key as string)
  }

  return {
    shared: { nameWorkspace: repositoryOf },
    waiters: {
      numbers: (key) => once(() => waiters.numbers(key)),
      read: (key, number) => once(() => waiters.read(key, number)),
      add: (key, text) => once(() => waiters.add(key, text)),
      touch: (key, number) => once(() => waiters.touch(key, number)),
      remove: (key, number) => once(() => waiters.remove(key, number)),
    },
    read: (key) => once(() => read(key)),
    swap: (key, before, text) => once(() => swap(key, before, text)),
    remove: (key, before) => once(() => remove(key, before)),
    now: (key) => once(() => now(key)),
    writtenAt: (key) => once(() => writtenAt(key)),
    keys: () => once(keys),
    perform: (step) => step(),
    locate: (key) => `stint.register ${key}`,
    watch: (key, onChange) => pollEpoch(pool, key, pollMs, onChange),
    activity,
  }
}

/** An operation that is one step: the server orders the queries of several writers, not the caller. */
function* once<Result>(step: () => Promise<Result>): Steps<PostgresStep, Result> {
  return (yield step) as Result
}

/** The server has one clock for all clients, wall time and monotonic time alike. */
function nowOf({ now, timeline }: SqlRow): Now {
  const wall = now as number
  return { wall, mono: wall, clock: 'postgres', era: `pg${String(timeline)}` }
}

/** Reports changes of a key's epoch, by polling; returns a stop function. Does not keep the process alive. */
function pollEpoch(pool: PostgresPool, key: string, everyMs: number, onChange: () => void): () => void {
  let last: string | undefined
  let asking = false
  const look = async (): Promise<void> => {
    // While the server is slow, one query at a time is enough.
    if (asking) return
    asking = true
    try {
      const { rows } = await pool.query('SELECT epoch FROM stint.register WHERE key = $1', [key])
      const epoch = String(rows[0]?.epoch ?? 0)
      if (last !== undefined && last !== epoch) onChange()
      last = epoch
    } catch {
      // A watch is only a hint; the holder of a lease notices an unreachable server by its refresh.
    } finally {
      asking = false
    }
  }
  void look()
  const timer = setInterval(() => void look(), everyMs).unref()
  return () => clearInterval(timer)
}

/**
 * SQL for the timeline of the server's write-ahead log. A replica that takes over begins a new timeline, and
 * may lack the last writes of the old primary.
 */
const serverTimeline = `CASE WHEN pg_is_in_recovery() THEN '' ELSE substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8) END`
const noTimeline = `''`
/** Unknown function, permission denied, not supported, not in this state. */
const timelineRefused = new Set<string | undefined>(['42883', '42501', '0A000', '55000'])

/** SQL for the time of a key: the server's clock, but never before the last write. */
const timeSince = (writtenAt: string, timeline: string): string =>
  `${milliseconds(`greatest(clock_timestamp(), ${writtenAt})`)} AS now, ${timeline} AS timeline`

/** Returns no row for a key that was never written. */
const readSql = (timeline: string): string =>
  `SELECT epoch, text, ${timeSince('written_at', timeline)} FROM stint.register WHERE key = $1`

/** Returns a row for any key. */
const nowSql = (timeline: string): string =>
  `SELECT ${timeSince('(SELECT written_at FROM stint.register WHERE key = $1)', timeline)}`

const lockSql = `SELECT epoch, text, ${untilOnDisk} FROM stint.register WHERE key = $1 FOR UPDATE`

/**
 * The whole swap: of several writers that replace the same entry, only the first changes a row. It compares
 * the texts, too: a primary that failed may have shown an epoch that its standby gave to another text.
 */
const swapStatement = (key: string, before: RegisterEntry, text: string): [string, ...unknown[]] =>
  before.text === undefined
    ? [
        `INSERT INTO stint.register (key, epoch, text, written_at)
        VALUES ($1, $2::bigint + 1, $3, clock_timestamp())
        ON CONFLICT (key) DO NOTHING RETURNING epoch, ${untilOnDisk}`,
        key,
        before.epoch,
        text,
      ]
    : [
        `UPDATE stint.register SET epoch = epoch + 1, text = $3,
        written_at = greatest(clock_timestamp(), written_at + interval '1 millisecond')
        WHERE key = $1 AND epoch = $2 AND text = $4 RETURNING epoch, ${untilOnDisk}`,
        key,
        before.epoch,
        text,
        before.text,
      ]
