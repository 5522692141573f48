import { systemClock } from '../base/process/clock.ts'
import { type Now, type Register, type RegisterEntry, repositoryOf, type Steps } from '../lease/index.ts'
import { causeOf, isConflict, isUncertain, sqlStateOf } from './explain.ts'
import { Gateway, type GatewayOptions } from './gateway.ts'
import type { Row } from './pool.ts'
import { pollEpoch } from './poll-epoch.ts'
import {
  milliseconds,
  nowSql,
  noTimeline,
  readSql,
  swapStatement,
  timelineOfServer,
  withoutTimeline,
} from './statements.ts'
import { Late } from './timeout.ts'

export interface PostgresRegisterOptions extends GatewayOptions {
  /** How often a watcher looks, in milliseconds; 1000 by default. */
  pollMs?: number
}

export type PostgresStep = { sql: string; values: unknown[] } | { pause: number }

type Queries<Result> = Steps<PostgresStep, Result>

/** What the register needs of the schema. */
const wantedVersion = 1

/** Soon after a read, its time is the time. */
const justNowMs = 50

/** How long it is tried to learn what became of a swap whose answer was lost: a server that was killed is back by then, or it is away. */
const resolveMs = 5000

/**
 * A register in PostgreSQL: a row a key, a swap is one conditional statement. The server's clock decides expiry, and for a key it never runs
 * backwards, whatever is done to it: each change is at least a millisecond after the one before.
 *
 * @example
 * const register = postgresRegister({ pool: new pg.Pool({ connectionString }) })
 * await using lease = await acquireLease({ register, resource: 'deploy:prod', sessionId: 'ses_1' })
 */
export function postgresRegister(options: PostgresRegisterOptions): Register<PostgresStep> {
  const { pool, pollMs = 1000 } = options
  const gateway = new Gateway(options, wantedVersion)
  const readings = new Map<string, { now: Now; at: number }>()
  let timeline: string = timelineOfServer

  function* query(sql: string, ...values: unknown[]): Queries<Row[]> {
    return (yield { sql, values }) as Row[]
  }

  /** Asks for one row of a key, with the time. */
  function* look(key: string, sql: (timeline: string) => string): Queries<Row | undefined> {
    for (;;) {
      try {
        return (yield* query(sql(timeline), key))[0]
      } catch (error) {
        // Not every server of this protocol has a log to ask about.
        if (timeline === noTimeline || !withoutTimeline.has(stateBehind(error))) throw error
        timeline = noTimeline
      }
    }
  }

  function* read(key: string): Queries<RegisterEntry> {
    const row = yield* look(key, readSql)
    if (row === undefined) return { epoch: 0, text: undefined }
    readings.set(key, { now: nowOf(row), at: systemClock.mono() })
    return { epoch: Number(row.epoch), text: row.text as string }
  }

  function* swap(key: string, expected: number, text: string): Queries<number | undefined> {
    try {
      const [row] = yield* query(...swapStatement(key, expected, text))
      return row === undefined ? undefined : Number(row.epoch)
    } catch (error) {
      if (isConflict(causeOf(error))) return undefined
      if (!isUncertain(causeOf(error))) throw error
      return yield* resolve(key, expected, text, error)
    }
  }

  /**
   * The answer was lost, not necessarily the swap. No text is written twice: if ours is there, it was won. If it is not, it is lost, or comes
   * yet, which is the same for whoever reads and tries again.
   */
  function* resolve(key: string, expected: number, text: string, lost: unknown): Queries<number | undefined> {
    const end = systemClock.mono() + resolveMs
    for (let pause = 10; ; pause = Math.min(500, pause * 2)) {
      try {
        const held = yield* read(key)
        if (held.epoch === expected + 1 && held.text === text) return held.epoch
        if (held.epoch !== expected || !(causeOf(lost) instanceof Late)) return undefined
      } catch (error) {
        if (!isUncertain(causeOf(error)) || systemClock.mono() + pause > end) throw lost
        yield { pause }
        continue
      }
      // It still waits for its turn. To line up behind it, again and again, would only use up the connections.
      throw lost
    }
  }

  function* now(key?: string): Queries<Now> {
    const reading = key === undefined ? undefined : readings.get(key)
    if (key !== undefined) readings.delete(key)
    if (reading !== undefined && systemClock.mono() - reading.at < justNowMs) return reading.now
    return nowOf((yield* look(key ?? '', nowSql)) ?? {})
  }

  async function perform(step: PostgresStep): Promise<unknown> {
    if ('pause' in step) return await new Promise((resolve) => setTimeout(resolve, step.pause))
    return await gateway.ask(async () => (await pool.query(step.sql, step.values)).rows)
  }

  return {
    shared: { nameWorkspace: repositoryOf },
    read,
    swap,
    now,
    perform,
    *writtenAt(key) {
      const [row] = yield* query(
        `SELECT ${milliseconds('written_at')} AS at FROM stint.register WHERE key = $1`,
        key,
      )
      return row?.at as number | undefined
    },
    *keys() {
      const rows = yield* query('SELECT key FROM stint.register ORDER BY key')
      return rows.map(({ key }) => key as string)
    },
    locate: (key) => `stint.register ${key}`,
    watch: (key, onChange) => pollEpoch(pool, key, pollMs, onChange),
  }
}

/** One clock for everybody: that of the server. */
const nowOf = ({ now, timeline }: Row): Now => {
  const wall = now as number
  return { wall, mono: wall, clock: 'postgres', era: `pg${String(timeline)}` }
}

const stateBehind = (error: unknown): string | undefined => sqlStateOf(causeOf(error))
