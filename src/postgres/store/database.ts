import { setTimeout as delay } from 'node:timers/promises'
import { systemClock } from '../../primitives/clock.ts'
import { StintError } from '../../primitives/stint-error.ts'
import { explainPostgres, isConflict, isUncertain, sqlStateOf } from '../explain.ts'
import { inTransaction, type PostgresClient, type PostgresPool, type Row } from '../pool.ts'
import { assertSchema, readSchemaVersion } from '../schema-version.ts'
import { Late, within } from '../within.ts'

export interface DatabaseOptions {
  pool: PostgresPool
  /** How long to wait for an answer of the server; 10 seconds by default. */
  timeoutMs?: number
  /** For how long a session that is held goes on trying while the server is away; 10 seconds. */
  patienceMs?: number
}

/** What sessions need of the schema. */
const wantedVersion = 2

const maxConflicts = 50
const longMs = 10 * 60_000

/** The way to the server: every question has its time, every failure says what to do. */
export class Database {
  readonly #pool: PostgresPool
  readonly #timeoutMs: number
  readonly #patienceMs: number
  #ready: Promise<void> | undefined

  constructor({ pool, timeoutMs = 10_000, patienceMs = 10_000 }: DatabaseOptions) {
    this.#pool = pool
    this.#timeoutMs = timeoutMs
    this.#patienceMs = patienceMs
  }

  /** One statement, which is a transaction of its own. */
  async query(sql: string, ...values: unknown[]): Promise<Row[]> {
    return await this.#explained(async () => (await this.#pool.query(sql, values)).rows)
  }

  /** All statements, or none of them. `long`: it moves as much as a session has. */
  async transaction<Result>(
    act: (client: PostgresClient) => Promise<Result>,
    { long = false } = {},
  ): Promise<Result> {
    const timeoutMs = long ? Math.max(longMs, this.#timeoutMs) : this.#timeoutMs
    return await this.#explained(() => inTransaction(this.#pool, act), timeoutMs)
  }

  /** Once, until it has succeeded: is there a server, with a schema that we know? */
  async ready(): Promise<void> {
    await this.#explained(async () => {})
  }

  /**
   * Tries something again that does no harm when it is done twice: a server that was killed is soon back, or it is away. Whoever still waits for an answer does not
   * ask again: to line up behind oneself only uses up the connections.
   */
  async insist<Result>(act: () => Promise<Result>): Promise<Result> {
    const end = systemClock.mono() + this.#patienceMs
    for (let pause = 10, conflicts = 0; ;) {
      try {
        return await act()
      } catch (error) {
        const cause = causeOf(error)
        if (isConflict(cause) && ++conflicts < maxConflicts) continue
        if (!mayPass(cause) || systemClock.mono() + pause > end) throw error
      }
      await delay(pause)
      pause = Math.min(500, pause * 2)
    }
  }

  async #explained<Result>(act: () => Promise<Result>, timeoutMs = this.#timeoutMs): Promise<Result> {
    try {
      return await within(timeoutMs, async () => {
        await this.#checkSchema()
        return await act()
      })
    } catch (error) {
      throw explainPostgres(error)
    }
  }

  #checkSchema(): Promise<void> {
    this.#ready ??= readSchemaVersion(this.#pool).then((version) => assertSchema(version, wantedVersion))
    this.#ready.catch(() => {
      this.#ready = undefined
    })
    return this.#ready
  }
}

/** What `pg` has thrown, behind our words for it. */
export const causeOf = (error: unknown): unknown =>
  error instanceof StintError && error.cause !== undefined ? error.cause : error

/** After such a failure nobody knows what the server has done. */
export const isUnknown = (error: unknown): boolean => !isOurs(causeOf(error)) && isUncertain(causeOf(error))

/** Too many connections, too little memory: in a moment there may be more. */
const shortages = new Set<string | undefined>(['53000', '53200', '53300', '55P03'])

const mayPass = (cause: unknown): boolean =>
  !(cause instanceof Late) && !isOurs(cause) && (isUncertain(cause) || shortages.has(sqlStateOf(cause)))

/** An error of ours without a cause is a decision, not a mishap. */
const isOurs = (cause: unknown): boolean => cause instanceof StintError
