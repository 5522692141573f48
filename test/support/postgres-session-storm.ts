import { once } from 'node:events'
import { judgeSessions } from './postgres-session-storm-verdict.ts'
import type { PostgresSessions } from './postgres-sessions.ts'
import type { PostgresServer } from './postgres.ts'
import { type StormProcess, StormProcesses } from './storm-processes.ts'
import { until } from './world.ts'

export interface SessionStormOptions {
  server: PostgresServer
  sessions: PostgresSessions
  processes: number
  /** How often each of the five faults strikes. */
  strikes: number
  /** The storm lasts until this many appends were acknowledged. */
  appends: number
  /** Writers that retry an append whose answer was lost, without looking it up: the storm must find that. */
  naive?: boolean
}

export interface SessionStormReport {
  acknowledged: number
  serverKills: number
  cuts: number
  lostAnswers: number
  kills: number
  fenced: number
  faults: string[]
}

/** The session that all writers visit, but naive ones, which would not repeat a visit with a lost answer. */
const shared = 'shared'
const answersLost = 5

/**
 * Processes write to sessions of their own and visit a shared one, without pause. Meanwhile the server is
 * killed and restarted, connections are cut, answers are lost, and writers are killed or suspended until
 * another one has their session.
 */
export async function sessionStorm(options: SessionStormOptions): Promise<SessionStormReport> {
  await using storm = new Storm(options)
  return await storm.run()
}

class Storm implements AsyncDisposable {
  readonly #options: SessionStormOptions
  readonly #writers: StormProcesses
  #lostAnswers = 0

  constructor(options: SessionStormOptions) {
    this.#options = options
    const { server, sessions } = options
    this.#writers = new StormProcesses('postgres-session-writer.mjs', server, sessions.database)
  }

  async run(): Promise<SessionStormReport> {
    const { processes, strikes, appends, naive } = this.#options
    const ids = Array.from({ length: processes }, (_, i) => `session-${i}`)
    await Promise.all(ids.map((id) => this.#start(id)))
    for (let round = 0; round < strikes; round++) {
      for (const strike of [
        () => this.#loseAnswers(),
        () => this.#writers.cut(),
        () => this.#suspend(),
        () => this.#kill(),
        () => this.#writers.killServer(),
      ]) {
        await this.#moreAcknowledged(processes * 2)
        await strike()
      }
    }
    await until('all appends are acknowledged', () => this.#hasAcknowledged(appends), 600_000)
    await this.#writers.end()
    const written = naive ? ids : [...ids, shared]
    return {
      acknowledged: this.#acknowledged(),
      ...this.#writers.counts,
      lostAnswers: this.#lostAnswers,
      ...(await judgeSessions(this.#options.sessions, written, this.#writers.logs())),
    }
  }

  async #start(id: string): Promise<void> {
    const { server, sessions, naive = false } = this.#options
    const [good, bad] = [server.directory, sessions.proxy.directory].map(encodeURIComponent) as [
      string,
      string,
    ]
    const url = server.url({ database: sessions.database }).replace(good, bad)
    await this.#writers.start(id, { url, id, shared: naive ? undefined : shared, callers: 4, naive })
  }

  #anyWriter(): StormProcess {
    const living = this.#writers.living()
    return living[Math.floor(Math.random() * living.length)] as StormProcess
  }

  async #moreAcknowledged(more: number): Promise<void> {
    const goal = this.#acknowledged() + more
    await until('more appends are acknowledged', () => this.#hasAcknowledged(goal))
  }

  /** The server carries out an append, and the writer gets no answer. */
  async #loseAnswers(): Promise<void> {
    const { proxy } = this.#options.sessions
    for (let n = 0; n < answersLost; n++) {
      const before = proxy.faults
      proxy.strike('bytes = bytes + $6', 'cut after')
      await until('an answer is lost', () => proxy.faults > before)
      this.#lostAnswers += 1
    }
  }

  /** Suspends a writer until another one has its session. After that it must not write. */
  async #suspend(): Promise<void> {
    const { name, child } = this.#anyWriter()
    child.kill('SIGSTOP')
    // A cut may just have ended a connection of this process: the next try gets another one.
    const unlocking = (): Promise<boolean> =>
      this.#options.sessions.store.unlock(name).then(
        () => true,
        () => false,
      )
    await until('the session is unlocked', unlocking)
    await this.#start(name)
    const ended = once(child, 'exit')
    child.kill('SIGCONT')
    await ended
  }

  async #kill(): Promise<void> {
    const victim = this.#anyWriter()
    await this.#writers.kill(victim)
    await this.#start(victim.name)
  }

  #hasAcknowledged(count: number): boolean {
    return this.#writers.living().length > 0 && this.#acknowledged() >= count
  }

  #acknowledged(): number {
    return this.#writers.logs().reduce((sum, { text }) => sum + text.split('ack ').length - 1, 0)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#writers[Symbol.asyncDispose]()
  }
}
