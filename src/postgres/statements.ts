/** A time of the server, in milliseconds since the epoch, as a number that JavaScript has. */
export const milliseconds = (time: string): string => `(extract(epoch FROM ${time}) * 1000)::float8`

/** Asks a server that acknowledges before a record is on disk (`synchronous_commit = off`) not to, for this transaction. */
export const untilOnDisk = `CASE current_setting('synchronous_commit') WHEN 'off' THEN set_config('synchronous_commit', 'on', true) END`

/** What a server that takes over from another counts up: after that, what was written last may be lost. */
export const timelineOfServer = `CASE WHEN pg_is_in_recovery() THEN '' ELSE substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8) END`
export const noTimeline = `''`
/** Unknown function, not for us, not supported, not in this state. */
export const withoutTimeline = new Set<string | undefined>(['42883', '42501', '0A000', '55000'])

/** The time for a key: that of the server, but never before what was written last. */
const timeSince = (writtenAt: string, timeline: string): string =>
  `${milliseconds(`greatest(clock_timestamp(), ${writtenAt})`)} AS now, ${timeline} AS timeline`

/** No row if nothing was ever written. */
export const readSql = (timeline: string): string =>
  `SELECT epoch, text, ${timeSince('written_at', timeline)} FROM stint.register WHERE key = $1`

/** A row in any case. */
export const nowSql = (timeline: string): string =>
  `SELECT ${timeSince('(SELECT written_at FROM stint.register WHERE key = $1)', timeline)}`

/** The whole swap: whoever comes second changes no row. */
export const swapStatement = (key: string, expected: number, text: string): [string, ...unknown[]] =>
  expected === 0
    ? [
        `INSERT INTO stint.register (key, epoch, text, written_at) VALUES ($1, 1, $2, clock_timestamp())
        ON CONFLICT (key) DO NOTHING RETURNING epoch`,
        key,
        text,
      ]
    : [
        `UPDATE stint.register SET epoch = epoch + 1, text = $3,
        written_at = greatest(clock_timestamp(), written_at + interval '1 millisecond')
        WHERE key = $1 AND epoch = $2 RETURNING epoch`,
        key,
        expected,
        text,
      ]
