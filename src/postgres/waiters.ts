import type { WaiterEntry } from '../lease/index.ts'
import { type Database, milliseconds } from './database.ts'
import type { SqlRow } from './pool.ts'
import { sqlState } from './postgres-errors.ts'

/** The SQL state of a role that may only look. */
const denied = '42501'

/** Asks, until the server refuses: from then on the answer is empty. */
function unlessRefused() {
  let isUsable = true
  return async (ask: () => Promise<SqlRow[]>): Promise<SqlRow[]> => {
    if (!isUsable) return []
    try {
      return await ask()
    } catch (error) {
      if (sqlState(error) !== denied) throw error
      isUsable = false
      return []
    }
  }
}

/** The waiters of a register in PostgreSQL, a row each. Where the table cannot be used, there are none. */
export function waiterTable(database: Database) {
  const ifUsable = unlessRefused()

  async function numbers(key: string): Promise<number[]> {
    const sql = 'SELECT number FROM stint.waiter WHERE key = $1 ORDER BY number'
    return (await ifUsable(() => database.query(sql, key))).map(({ number }) => Number(number))
  }

  async function read(key: string, number: number): Promise<WaiterEntry | undefined> {
    const sql = `SELECT text, ${milliseconds('touched_at')} AS at FROM stint.waiter WHERE key = $1 AND number = $2`
    const [row] = await database.query(sql, key, number)
    return row && { text: row.text as string, touchedAt: row.at as number }
  }

  /** Two that come at once may find the same number: the one that is too late tries again. */
  async function add(key: string, text: string): Promise<number> {
    for (;;) {
      const sql = `INSERT INTO stint.waiter (key, number, text, touched_at)
        SELECT $1, coalesce(max(number), 0) + 1, $2, clock_timestamp() FROM stint.waiter WHERE key = $1
        ON CONFLICT DO NOTHING RETURNING number`
      const [row] = await database.retry(() => database.write(sql, key, text))
      if (row !== undefined) return Number(row.number)
    }
  }

  async function touch(key: string, number: number): Promise<boolean> {
    const sql = `UPDATE stint.waiter SET touched_at = clock_timestamp() WHERE key = $1 AND number = $2 RETURNING number`
    return (await database.retry(() => database.write(sql, key, number))).length > 0
  }

  async function remove(key: string, number: number): Promise<void> {
    const sql = 'DELETE FROM stint.waiter WHERE key = $1 AND number = $2'
    await database.retry(() => database.write(sql, key, number))
  }

  return { numbers, read, add, touch, remove }
}

const wantedKey = (id: string): string => `session/${id}`

/**
 * Tells the holder of a session that another process waits for it: a row of its own among the waiters, which
 * the holder deletes when it reads it. Where the table cannot be used, no holder hears of it.
 */
export function wantedSessions(database: Database) {
  const ifUsable = unlessRefused()
  return {
    async want(id: string): Promise<void> {
      const sql = `INSERT INTO stint.waiter (key, number, text, touched_at) VALUES ($1, 1, '', clock_timestamp())
        ON CONFLICT DO NOTHING`
      await ifUsable(() => database.write(sql, wantedKey(id)))
    },

    async wanted(ids: readonly string[]): Promise<string[]> {
      const sql = 'DELETE FROM stint.waiter WHERE key = ANY ($1::text[]) RETURNING key'
      const rows = await ifUsable(() => database.write(sql, ids.map(wantedKey)))
      const keys = new Set(rows.map(({ key }) => key))
      return ids.filter((id) => keys.has(wantedKey(id)))
    },
  }
}

/** Deletes what processes that waited for a session have left, because its holder did not share it. */
export async function forgetWanted(database: Database, olderThanMs: number): Promise<void> {
  const sql = `DELETE FROM stint.waiter WHERE starts_with(key, $1)
    AND touched_at < clock_timestamp() - $2::float8 * interval '1 millisecond'`
  await unlessRefused()(() => database.write(sql, wantedKey(''), olderThanMs))
}
