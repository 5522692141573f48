import type { LeaseStore, Now, Register, RegisterEntry } from '../lease/index.ts'
import { postgresActivityLogs } from './activity-logs.ts'
import { Database, milliseconds, type ServerOptions, untilOnDisk } from './database.ts'
import type { PostgresPool, SqlRow } from './pool.ts'
import { repositoryOf } from './repository.ts'
import { isConflict, isTimeout, isUncertain } from './postgres-errors.ts'
import { waiterRows } from './waiters.ts'

export interface PostgresLeasesOptions extends ServerOptions {
  /** How often a watcher looks, in milliseconds; 1000 by default. */
  pollMs?: number
}

/** How long to try to look up a swap whose answer was lost, in milliseconds: a restart takes less. */
const lookUpMs = 5000

/**
 * Leases in PostgreSQL, for all machines that use one database.
 *
 * @example
 * const store = postgresLeases({ pool: new pg.Pool({ connectionString }) })
 * await using lease = await acquireLease({ store, resource: 'deploy:prod', sessionId: 'ses_1' })
 */
export function postgresLeases(options: PostgresLeasesOptions): LeaseStore {
  const database = new Database({ ...options, patienceMs: lookUpMs })
  return {
    register: postgresRegister(database, options),
    waiters: waiterRows(database),
    activity: postgresActivityLogs(database),
    shared: { nameWorkspace: repositoryOf },
    locate: (key) => `stint.register ${key}`,
  }
}

/**
 * One row a key, and a swap is one conditional statement. The server's clock decides expiry. For a key it
 * never runs backwards, even if the clock is set back: each change is at least a millisecond after the last.
 */
function postgresRegister(
  database: Database,
  { pool, pollMs = 1000 }: Pick<PostgresLeasesOptions, 'pool' | 'pollMs'>,
): Register {
  /** What was last read of each key: a swap replaces the text that its caller has seen. */
  const lastReads = new Map<string, RegisterEntry>()

  async function read(key: string): Promise<RegisterEntry> {
    const [row = {}] = await database.query(readSql, key)
    const text = row.text as string | null
    const entry = { epoch: Number(row.epoch ?? 0), text: text ?? undefined, now: nowOf(row) }
    lastReads.set(key, entry)
    return entry
  }

  async function swap(key: string, epoch: number, text: string): Promise<boolean> {
    const lastRead = lastReads.get(key)
    const seen = lastRead?.epoch === epoch ? lastRead.text : undefined
    try {
      const rows =
        epoch === 0
          ? await database.write(insertSql, key, text)
          : await database.write(updateSql, key, epoch, text, seen ?? null)
      return rows.length > 0
    } catch (error) {
      if (isConflict(error)) return false
      // After a timeout, the swap may still wait in the server for another transaction or for the standby:
      // to look it up would only occupy one more connection.
      if (!isUncertain(error) || isTimeout(error)) throw error
      return await hasWon(key, epoch, text, error)
    }
  }

  /**
   * Whether a swap has won whose connection was lost. To lock its row is the smallest write: when the standby
   * has that, it has the swap. A swap that the server carries out later makes the caller's next one fail.
   */
  async function hasWon(key: string, epoch: number, text: string, lost: unknown): Promise<boolean> {
    try {
      const rows = await database.retry(() => database.write(lockSql, key, epoch + 1, text))
      return rows.length > 0
    } catch {
      throw lost
    }
  }

  return {
    read,
    swap,
    async keys() {
      const rows = await database.query('SELECT key FROM stint.register ORDER BY key')
      return rows.map(({ key }) => key as string)
    },
    watch: (key, onChange) => pollEpoch(pool, key, pollMs, onChange),
  }
}

/** The server has one clock for all clients, wall time and monotonic time alike. */
function nowOf({ now }: SqlRow): Now {
  const wall = now as number
  return { wall, mono: wall, clock: 'postgres' }
}

/** Reports changes of a key's epoch, by polling; returns a stop function. Does not keep the process alive. */
function pollEpoch(pool: PostgresPool, key: string, everyMs: number, onChange: () => void): () => void {
  let last: string | undefined
  let isAsking = false
  const look = async (): Promise<void> => {
    // While the server is slow, one query at a time is enough.
    if (isAsking) return
    isAsking = true
    try {
      const { rows } = await pool.query('SELECT epoch FROM stint.register WHERE key = $1', [key])
      const epoch = String(rows[0]?.epoch ?? 0)
      if (last !== undefined && last !== epoch) onChange()
      last = epoch
    } catch {
      // A watch is only a hint; the holder of a lease notices an unreachable server by its refresh.
    } finally {
      isAsking = false
    }
  }
  void look()
  const timer = setInterval(() => void look(), everyMs).unref()
  return () => clearInterval(timer)
}

/** Returns a row for any key. The time of a key is the server's clock, but never before its last write. */
const readSql = `SELECT epoch, text, ${milliseconds('greatest(clock_timestamp(), written_at)')} AS now
  FROM (SELECT $1::text AS key) AS asked LEFT JOIN stint.register USING (key)`

const insertSql = `INSERT INTO stint.register (key, epoch, text, written_at) VALUES ($1, 1, $2, clock_timestamp())
  ON CONFLICT (key) DO NOTHING RETURNING epoch, ${untilOnDisk}`

/**
 * Of several writers that replace the same epoch, only the first changes a row. The texts are compared, too:
 * a primary that failed may have shown an epoch that its standby gave to another text.
 */
const updateSql = `UPDATE stint.register SET epoch = epoch + 1, text = $3,
  written_at = greatest(clock_timestamp(), written_at + interval '1 millisecond')
  WHERE key = $1 AND epoch = $2 AND text = coalesce($4, text) RETURNING epoch, ${untilOnDisk}`

const lockSql = `SELECT epoch, ${untilOnDisk} FROM stint.register WHERE key = $1 AND epoch = $2 AND text = $3 FOR UPDATE`
