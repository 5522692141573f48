import type { WaiterEntry } from '../lease/index.ts'
import { type Database, milliseconds } from './database.ts'
import { sqlState } from './postgres-errors.ts'

/** No such table, or permission denied: the schema is older, or this role may only use leases. */
const refused = new Set<string | undefined>(['42P01', '42501'])

/** The waiters of a register in PostgreSQL, a row each. Where the table cannot be used, there are none. */
export function waiterTable(database: Database) {
  let isUsable = true

  async function numbers(key: string): Promise<number[]> {
    if (!isUsable) return []
    try {
      const rows = await database.query('SELECT number FROM stint.waiter WHERE key = $1 ORDER BY number', key)
      return rows.map(({ number }) => Number(number))
    } catch (error) {
      if (!refused.has(sqlState(error))) throw error
      isUsable = false
      return []
    }
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
