import { setTimeout as delay } from 'node:timers/promises'
import { systemClock } from '../base/process/clock.ts'
import { inTransaction, onConnection, type PostgresPool, type SqlRow } from './pool.ts'
import { explainPostgres, isConflict, isTimeout, isUncertain, sqlState, TimedOut } from './postgres-errors.ts'
import { assertSchema, readSchemaVersion } from './schema.ts'

export interface ServerOptions {
  pool: PostgresPool
  /** How long to wait for an answer of the server, in milliseconds; 10,000 by default. */
  timeoutMs?: number
}

export interface DatabaseOptions extends ServerOptions {
  /** For how long a held session retries while the server is away, in milliseconds; 10,000 by default. */
  patienceMs?: number
}

const maxConflicts = 50
const longTimeoutMs = 10 * 60_000

/** Sends one statement and returns the rows of the answer. */
export type Query = (sql: string, ...values: unknown[]) => Promise<SqlRow[]>

/**
 * A database with the schema `stint`. Each query has a time limit, and each failure says what to do. The
 * version of the schema is checked before the first query.
 */
export class Database {
  readonly #pool: PostgresPool
  readonly #timeoutMs: number
  readonly #patienceMs: number
  #schemaChecked: Promise<void> | undefined

  constructor({ pool, timeoutMs = 10_000, patienceMs = 10_000 }: DatabaseOptions) {
    this.#pool = pool
    this.#timeoutMs = timeoutMs
    this.#patienceMs = patienceMs
  }

  /** Sends one statement that reads. */
  async query(sql: string, ...values: unknown[]): Promise<SqlRow[]> {
    return await this.#run(async () => (await this.#pool.query(sql, values)).rows, this.#timeoutMs)
  }

  /**
   * Sends one statement that writes, as a transaction of its own. If the server has a synchronous standby,
   * this resolves when the standby has the change. A statement that changes no row waits for no standby.
   */
  async write(sql: string, ...values: unknown[]): Promise<SqlRow[]> {
    const act = (): Promise<SqlRow[]> =>
      onConnection(this.#pool, async (client) => (await client.query(sql, values)).rows)
    return await this.#run(act, this.#timeoutMs)
  }

  /** Runs `act` in one transaction. `long` allows it ten minutes, for as much data as a session may have. */
  async transaction<Result>(act: (query: Query) => Promise<Result>, { long = false } = {}): Promise<Result> {
    const transact = (): Promise<Result> =>
      inTransaction(this.#pool, (client) =>
        act(async (sql, ...values) => (await client.query(sql, values)).rows),
      )
    return await this.#run(transact, long ? Math.max(longTimeoutMs, this.#timeoutMs) : this.#timeoutMs)
  }

  /** Throws unless the server can be reached and has a schema that this version of stint can use. */
  async assertReady(): Promise<void> {
    await this.#run(async () => {}, this.#timeoutMs)
  }

  /**
   * Retries `act` while the server restarts or is short of resources. `act` must do no harm when it is
   * carried out twice. A timeout is not retried: the first statement still waits in the server, and each
   * further one would occupy a connection.
   */
  async retry<Result>(act: () => Promise<Result>): Promise<Result> {
    const end = systemClock.mono() + this.#patienceMs
    for (let pauseMs = 10, conflicts = 0; ;) {
      try {
        return await act()
      } catch (error) {
        if (isConflict(error) && ++conflicts < maxConflicts) continue
        if (!mayPass(error) || systemClock.mono() + pauseMs > end) throw error
      }
      await delay(pauseMs)
      pauseMs = Math.min(500, pauseMs * 2)
    }
  }

  async #run<Result>(act: () => Promise<Result>, timeoutMs: number): Promise<Result> {
    return await askWithin(timeoutMs, async () => {
      await this.#checkSchema()
      return await act()
    })
  }

  /** Checks once; a check that failed is repeated by the next query. */
  #checkSchema(): Promise<void> {
    this.#schemaChecked ??= readSchemaVersion(this.#pool).then(assertSchema)
    this.#schemaChecked.catch(() => {
      this.#schemaChecked = undefined
    })
    return this.#schemaChecked
  }
}

/** Short of connections, memory or locks: in a moment there may be more. */
const shortages = new Set<string | undefined>(['53000', '53200', '53300', '55P03'])

const mayPass = (error: unknown): boolean =>
  !isTimeout(error) && (isUncertain(error) || shortages.has(sqlState(error)))

/**
 * Waits at most `ms` milliseconds for the server, and turns an error of `pg` into one that says what to do.
 * The limit is needed because another transaction may hold the row, and because the network may lose an
 * answer without closing the connection.
 */
export async function askWithin<Answer>(ms: number, ask: () => Promise<Answer>): Promise<Answer> {
  let timer: NodeJS.Timeout | undefined
  const timeout = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new TimedOut(`no answer within ${ms} ms`)), ms)
  })
  const asking = ask()
  // After a timeout, a late rejection must not be reported as unhandled.
  asking.catch(() => {})
  try {
    return await Promise.race([asking, timeout])
  } catch (error) {
    throw explainPostgres(error)
  } finally {
    clearTimeout(timer)
  }
}

/**
 * SQL for a time of the server as a JavaScript number: milliseconds since the epoch. As JSON, because `pg`
 * returns a bigint as a string, and a role with a low `extra_float_digits` gets float8 values rounded.
 */
export const milliseconds = (time: string): string =>
  `to_json(round(extract(epoch FROM ${time}) * 1000)::bigint)`

/** SQL that makes this transaction wait for the disk, even where `synchronous_commit = off` is configured. */
export const untilOnDisk = `CASE current_setting('synchronous_commit') WHEN 'off' THEN set_config('synchronous_commit', 'on', true) END`
