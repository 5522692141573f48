import type { WaiterEntries } from '../lease/index.ts'
import { ulid } from '../base/text/id.ts'
import type { Database } from './database.ts'
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

const insertSql = `INSERT INTO stint.waiter (key, id, text, added_at) VALUES ($1, $2, $3, clock_timestamp())
  ON CONFLICT DO NOTHING`

/** The waiters of leases in PostgreSQL, a row each. For a role that may not use the table, there are none. */
export function waiterRows(database: Database): WaiterEntries {
  const ifUsable = unlessRefused()
  return {
    async list(key) {
      const sql = 'SELECT id, text FROM stint.waiter WHERE key = $1 ORDER BY id'
      const rows = await ifUsable(() => database.query(sql, key))
      return rows.map(({ id, text }) => ({ id: id as string, text: text as string }))
    },
    async add(key, text) {
      const id = ulid()
      await ifUsable(() => database.retry(() => database.write(insertSql, key, id, text)))
      return id
    },
    async remove(key, id) {
      const sql = 'DELETE FROM stint.waiter WHERE key = $1 AND id = $2'
      await ifUsable(() => database.retry(() => database.write(sql, key, id)))
    },
  }
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
      await ifUsable(() => database.write(insertSql, wantedKey(id), 'wanted', ''))
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
    AND added_at < clock_timestamp() - $2::float8 * interval '1 millisecond'`
  await unlessRefused()(() => database.write(sql, wantedKey(''), olderThanMs))
}
