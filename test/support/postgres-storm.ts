import { fenceFaults, overlapsOf, readHoldLog } from './hold-log.ts'
import type { PostgresServer } from './postgres.ts'
import { readIfThere } from './read-if-there.ts'
import { type StormProcess, StormProcesses } from './storm-processes.ts'
import { until } from './world.ts'

export interface PostgresStormOptions {
  server: PostgresServer
  database: string
  processes: number
  /** How often each of the four faults strikes. */
  strikes: number
  /** A lock without its condition: the storm must see that. */
  broken?: boolean
  enough?: (verdict: StormVerdict) => boolean
}

/** What a storm has shown. */
export interface StormVerdict {
  grants: number
  /** Leases that ran out, and whose holder learned it. */
  lapses: number
  /** Pairs of holders at one time. */
  overlaps: string[]
  /** Fences that do not grow, and leases that were called lost before their time. */
  faults: string[]
}

export interface PostgresStormReport extends StormVerdict {
  serverKills: number
  cuts: number
  stops: number
  kills: number
}

const ttlMs = 400

/** An hour ahead, an hour behind, right. */
const skews = [0, 3_600_000, -3_600_000, 90_000]

/** A timer may be that early. */
const slack = 2_000_000n

/**
 * Processes with clocks that disagree contend for one lease, without pause, while the server is killed and started again, their connections are
 * cut, and they are killed and stopped for longer than a lease lasts.
 */
export async function postgresStorm(options: PostgresStormOptions): Promise<PostgresStormReport> {
  await using field = new Field(options)
  return await field.rage()
}

class Field implements AsyncDisposable {
  readonly #options: PostgresStormOptions
  readonly #contenders: StormProcesses
  #stops = 0

  constructor(options: PostgresStormOptions) {
    this.#options = options
    this.#contenders = new StormProcesses('postgres-contender.mjs', options.server, options.database)
  }

  async rage(): Promise<PostgresStormReport> {
    const { processes, strikes, enough } = this.#options
    await Promise.all(Array.from({ length: processes }, () => this.#start()))
    await this.#somebodyGetsIt(processes)
    const isEnough = (): boolean => enough?.(this.#verdict()) === true
    for (let round = 0; round < strikes && !isEnough(); round++) {
      for (const strike of [
        () => this.#contenders.cut(),
        () => this.#stop(),
        () => this.#kill(),
        () => this.#contenders.killServer(),
      ]) {
        await strike()
        await this.#somebodyGetsIt(3)
        if (isEnough()) break
      }
    }
    await this.#contenders.end()
    return { ...this.#verdict(), ...this.#contenders.counts, stops: this.#stops }
  }

  async #start(): Promise<void> {
    const { server, database, broken = false } = this.#options
    const skewMs = skews[this.#contenders.started % skews.length]
    await this.#contenders.start('a contender', { url: server.url({ database }), ttlMs, skewMs, broken })
  }

  /** Who holds it, by what it has written last; a moment later it may have let go. */
  async #holder(): Promise<StormProcess> {
    let holder: StormProcess | undefined
    await until('somebody holds it', () => {
      holder = this.#contenders.living().find(({ log }) => /(?:enter|fresh) [^\n]*\n$/.test(readIfThere(log)))
      return holder
    })
    if (holder === undefined) throw new Error('somebody does')
    return holder
  }

  async #somebodyGetsIt(times: number): Promise<void> {
    const before = this.#grants()
    await until('the lease is had again', () => this.#contenders.living() && this.#grants() >= before + times)
  }

  /** For longer than its lease lasts, if it has one: by then somebody else does. */
  async #stop(): Promise<void> {
    const { child } = await this.#holder()
    child.kill('SIGSTOP')
    this.#stops += 1
    const end = Date.now() + ttlMs * 1.5
    await until('its lease is over', () => Date.now() > end)
    await this.#somebodyGetsIt(1)
    child.kill('SIGCONT')
  }

  async #kill(): Promise<void> {
    await this.#contenders.kill(await this.#holder())
    await this.#start()
  }

  #grants(): number {
    return this.#contenders.logs().reduce((sum, { text }) => sum + text.split('enter ').length - 1, 0)
  }

  #verdict(): StormVerdict {
    const logs = this.#contenders.logs().map(({ text, killedAt }) => readHoldLog(text, { killedAt, slack }))
    const holds = logs.flatMap((log) => log.holds)
    return {
      grants: holds.length,
      lapses: logs.reduce((sum, { lapses }) => sum + lapses, 0),
      overlaps: overlapsOf(holds),
      faults: [...fenceFaults(holds).faults, ...logs.flatMap(({ faults }) => faults)],
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#contenders[Symbol.asyncDispose]()
  }
}
