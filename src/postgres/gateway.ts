import { explainPostgres } from './explain.ts'
import type { PostgresPool } from './pool.ts'
import { assertSchema, readSchemaVersion } from './schema-version.ts'
import { within } from './timeout.ts'

export interface GatewayOptions {
  pool: PostgresPool
  /** How long to wait for an answer of the server; 10 seconds by default. */
  timeoutMs?: number
}

/** The way to the server: it has the schema we need, every question has its time, and every failure says what to do. */
export class Gateway {
  readonly pool: PostgresPool
  readonly timeoutMs: number
  readonly #wantedVersion: number
  #ready: Promise<void> | undefined

  /** `wantedVersion`: what is asked for needs this version of the schema. */
  constructor({ pool, timeoutMs = 10_000 }: GatewayOptions, wantedVersion: number) {
    this.pool = pool
    this.timeoutMs = timeoutMs
    this.#wantedVersion = wantedVersion
  }

  async ask<Answer>(question: () => Promise<Answer>, timeoutMs = this.timeoutMs): Promise<Answer> {
    try {
      return await within(timeoutMs, async () => {
        await this.#checkSchema()
        return await question()
      })
    } catch (error) {
      throw explainPostgres(error)
    }
  }

  /** Asks until it has succeeded once. */
  #checkSchema(): Promise<void> {
    this.#ready ??= readSchemaVersion(this.pool).then((version) => assertSchema(version, this.#wantedVersion))
    this.#ready.catch(() => {
      this.#ready = undefined
    })
    return this.#ready
  }
}
