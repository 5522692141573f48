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
  /** A swap without its condition: the storm must find that. */
  broken?: boolean
  enough?: (verdict: StormVerdict) => boolean
}

/** The result of a storm. */
export interface StormVerdict {
  grants: number
  /** Leases that expired, and whose holder noticed. */
  lapses: number
  /** Pairs of sessions that held the lease at the same time. */
  overlaps: string[]
  /** Fences that do not grow, and leases that were reported lost before they expired. */
  faults: string[]
}

export interface PostgresStormReport extends StormVerdict {
  serverKills: number
  cuts: number
  stops: number
  kills: number
}

const ttlMs = 400

/** How far the clocks of the processes are ahead or behind, in milliseconds. */
const skews = [0, 3_600_000, -3_600_000, 90_000]

/** How early a timer may fire, in nanoseconds. */
const slack = 2_000_000n

/**
 * Processes with clocks that disagree contend for one lease, without pause. Meanwhile the server is killed
 * and restarted, their connections are cut, and they are killed, or suspended for longer than the lease
 * lasts.
 */
export async function postgresStorm(options: PostgresStormOptions): Promise<PostgresStormReport> {
  await using storm = new Storm(options)
  return await storm.run()
}

class Storm implements AsyncDisposable {
  readonly #options: PostgresStormOptions
  readonly #contenders: StormProcesses
  #stops = 0

  constructor(options: PostgresStormOptions) {
    this.#options = options
    this.#contenders = new StormProcesses('postgres-contender.mjs', options.server, options.database)
  }

  async run(): Promise<PostgresStormReport> {
    const { processes, strikes, enough } = this.#options
    await Promise.all(Array.from({ length: processes }, () => this.#start()))
    await this.#waitForGrants(processes)
    const isEnough = (): boolean => enough?.(this.#verdict()) === true
    for (let round = 0; round < strikes && !isEnough(); round++) {
      for (const strike of [
        () => this.#contenders.cut(),
        () => this.#suspend(),
        () => this.#kill(),
        () => this.#contenders.killServer(),
      ]) {
        await strike()
        await this.#waitForGrants(3)
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

  /** The process that holds the lease according to its log; it may release it any moment. */
  async #holder(): Promise<StormProcess> {
    let holder: StormProcess | undefined
    await until('a process holds the lease', () => {
      holder = this.#contenders.living().find(({ log }) => /(?:enter|fresh) [^\n]*\n$/.test(readIfThere(log)))
      return holder
    })
    if (holder === undefined) throw new Error('no process holds the lease')
    return holder
  }

  async #waitForGrants(times: number): Promise<void> {
    const before = this.#grants()
    await until(
      'the lease is granted again',
      () => this.#contenders.living() && this.#grants() >= before + times,
    )
  }

  /** Suspends the holder for longer than its lease lasts, until another process has the lease. */
  async #suspend(): Promise<void> {
    const { child } = await this.#holder()
    child.kill('SIGSTOP')
    this.#stops += 1
    const end = Date.now() + ttlMs * 1.5
    await until('its lease has expired', () => Date.now() > end)
    await this.#waitForGrants(1)
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
