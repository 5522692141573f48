import { ulid } from '../../base/text/id.ts'
import { sessionNotFound, type SpoolEntry } from '../../session/index.ts'
import { untilOnDisk } from '../database.ts'
import type { Database } from '../database.ts'

/** For how long an entry that was taken in is remembered: whoever left it may be trying to, still. */
const rememberedFor = '1 day'

/** Leaves entries for the next writer. It takes them in by the order of their marks, which is the order of time. */
export async function leave(database: Database, id: string, entries: readonly SpoolEntry[]): Promise<void> {
  const marks = entries.map(() => ulid())
  await database.retry(async () => {
    // Sent again, it finds its own marks, also when they were taken in meanwhile.
    const [row] = await database.query(
      `WITH found AS (SELECT key FROM stint.session WHERE id = $1 AND removed_at IS NULL), left_there AS (
        INSERT INTO stint.spool (session, mark, entry)
        SELECT found.key, new.mark, new.entry FROM found, unnest($2::text[], $3::text[]) AS new (mark, entry)
        ON CONFLICT DO NOTHING
      ) SELECT ${untilOnDisk} FROM found`,
      id,
      marks,
      entries.map((entry) => JSON.stringify(entry)),
    )
    if (row === undefined) throw sessionNotFound(id)
  })
}

export async function countWaiting(database: Database, id: string): Promise<number> {
  const [row] = await database.query(
    `SELECT count(*) AS count FROM stint.spool AS spool JOIN stint.session AS session ON session.key = spool.session
    WHERE session.id = $1 AND session.removed_at IS NULL AND spool.taken_at IS NULL`,
    id,
  )
  return Number(row?.count)
}

/** Everything that waits, oldest first; nothing if the session is gone. */
export async function readSpooled(database: Database, id: string): Promise<SpoolEntry[]> {
  const rows = await database.query(
    `SELECT spool.entry FROM stint.spool AS spool JOIN stint.session AS session ON session.key = spool.session
    WHERE session.id = $1 AND session.removed_at IS NULL AND spool.taken_at IS NULL ORDER BY spool.mark`,
    id,
  )
  return rows.map(({ entry }) => JSON.parse(String(entry)) as SpoolEntry)
}

const pageSize = 500

/** A few of those that wait, oldest first. */
export async function readWaiting(database: Database, key: string): Promise<SpoolEntry[]> {
  const rows = await database.query(
    'SELECT mark, entry FROM stint.spool WHERE session = $1 AND taken_at IS NULL ORDER BY mark LIMIT $2',
    key,
    pageSize,
  )
  return rows.map(({ mark, entry }) => ({
    ...(JSON.parse(String(entry)) as SpoolEntry),
    spool: String(mark),
  }))
}

/** Nobody will ask for these any more. */
export async function forgetTaken(database: Database, key: string): Promise<void> {
  await database.query(
    `DELETE FROM stint.spool WHERE session = $1 AND taken_at < clock_timestamp() - interval '${rememberedFor}'`,
    key,
  )
}
