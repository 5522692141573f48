import { setTimeout as delay } from 'node:timers/promises'
import { systemClock } from '../../base/process/clock.ts'
import { causeOf, isConflict, isUncertain, sqlStateOf } from '../explain.ts'
import { Gateway, type GatewayOptions } from '../gateway.ts'
import { inTransaction, type Row } from '../pool.ts'
import { Late } from '../timeout.ts'

export interface DatabaseOptions extends GatewayOptions {
  /** For how long a session that is held goes on trying while the server is away; 10 seconds. */
  patienceMs?: number
}

/** What sessions need of the schema. */
const wantedVersion = 2

const maxConflicts = 50
const longMs = 10 * 60_000

/** Asks one thing, and gives the rows of the answer. */
export type Ask = (sql: string, ...values: unknown[]) => Promise<Row[]>

/** What sessions ask of the server: single statements, transactions, and both again after a mishap. */
export class Database {
  readonly #gateway: Gateway
  readonly #patienceMs: number

  constructor({ patienceMs = 10_000, ...options }: DatabaseOptions) {
    this.#gateway = new Gateway(options, wantedVersion)
    this.#patienceMs = patienceMs
  }

  /** One statement, which is a transaction of its own. */
  async query(sql: string, ...values: unknown[]): Promise<Row[]> {
    const { pool } = this.#gateway
    return await this.#gateway.ask(async () => (await pool.query(sql, values)).rows)
  }

  /** All statements, or none of them. `long`: it moves as much as a session has. */
  async transaction<Result>(act: (ask: Ask) => Promise<Result>, { long = false } = {}): Promise<Result> {
    const { pool, timeoutMs } = this.#gateway
    const transact = (): Promise<Result> =>
      inTransaction(pool, (client) => act(async (sql, ...values) => (await client.query(sql, values)).rows))
    return await this.#gateway.ask(transact, long ? Math.max(longMs, timeoutMs) : timeoutMs)
  }

  /** Is there a server, with a schema that we know? */
  async ready(): Promise<void> {
    await this.#gateway.ask(async () => {})
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
}

/** After such a failure nobody knows what the server has done. */
export const isUnknown = (error: unknown): boolean => isUncertain(causeOf(error))

/** Too many connections, too little memory: in a moment there may be more. */
const shortages = new Set<string | undefined>(['53000', '53200', '53300', '55P03'])

const mayPass = (cause: unknown): boolean =>
  !(cause instanceof Late) && (isUncertain(cause) || shortages.has(sqlStateOf(cause)))
