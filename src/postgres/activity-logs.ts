import { setTimeout as delay } from 'node:timers/promises'
import type { ActivityLogs } from '../lease/index.ts'
import type { Database } from './database.ts'
import { sqlState } from './postgres-errors.ts'

/** How many lines of a key are kept. */
const maxLines = 1000

/** How many of the newest lines are read where only the last ones matter. */
const recentLines = 50

/** How many appends wait while the server answers: of more, the oldest are lost. */
const maxWaiting = 64

/** How long a command that is about to exit waits for its last lines, in milliseconds. */
const maxDelayMs = 1000

/** The SQL state of a role that may not write there. */
const denied = '42501'

/**
 * The activity logs on a server: a row a line. Leases do not wait for it. One statement is under way at a
 * time, on one connection, and what is appended meanwhile goes with the next.
 */
export function postgresActivityLogs(database: Database): ActivityLogs {
  let waiting: { key: string; lines: () => readonly string[] }[] = []
  let writing: Promise<void> | undefined
  let isRefused = false

  async function write(): Promise<void> {
    while (waiting.length > 0 && !isRefused) {
      const rows = waiting.flatMap(({ key, lines }) => lines().map((line) => ({ key, line })))
      waiting = []
      try {
        for (const key of new Set(rows.map((row) => row.key)))
          await database.query(
            appendSql,
            key,
            rows.filter((row) => row.key === key).map(({ line }) => line),
          )
      } catch (error) {
        isRefused = sqlState(error) === denied
      }
    }
    writing = undefined
  }

  return {
    append(key, lines) {
      if (isRefused) return
      waiting.push({ key, lines })
      if (waiting.length > maxWaiting) waiting.shift()
      writing ??= write()
    },
    async written() {
      // A statement that waits for another transaction must not keep a command from its end.
      await Promise.race([writing, delay(maxDelayMs, undefined, { ref: false })])
    },
    async read(key, lastBytes) {
      await writing
      if (isRefused) return []
      const rows = await database.query(readSql, key, lastBytes === undefined ? maxLines : recentLines)
      return rows.map(({ line }) => line as string)
    },
  }
}

const appendSql = `WITH old AS (DELETE FROM stint.activity WHERE key = $1 AND id <= (
    SELECT id FROM stint.activity WHERE key = $1 ORDER BY id DESC OFFSET ${maxLines - 1} LIMIT 1))
  INSERT INTO stint.activity (key, line) SELECT $1, unnest($2::text[])`

const readSql = `SELECT line FROM (SELECT id, line FROM stint.activity WHERE key = $1 ORDER BY id DESC LIMIT $2) AS newest
  ORDER BY id`
