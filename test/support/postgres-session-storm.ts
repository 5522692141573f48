import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { judge, readClaims } from './postgres-session-storm-verdict.ts'
import type { PostgresSessions } from './postgres-sessions.ts'
import type { PostgresServer } from './postgres.ts'
import { projectRoot, until } from './world.ts'

export interface SessionStormOptions {
  server: PostgresServer
  sessions: PostgresSessions
  processes: number
  /** How often each of the five faults strikes. */
  strikes: number
  /** It goes on until so many appends were acknowledged. */
  appends: number
  /** Writers that guess what became of an append whose answer was lost: the storm must see that. */
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

interface Writer {
  id: string
  child: ChildProcess
}

const shared = 'shared'
const answersLost = 5

/**
 * Processes write to sessions of their own and visit a common one, without pause, while the server is killed and started again, connections are cut, answers
 * are lost, and writers are killed, or stopped until somebody else has their session.
 */
export async function sessionStorm(options: SessionStormOptions): Promise<SessionStormReport> {
  await using field = new Field(options)
  return await field.rage()
}

class Field implements AsyncDisposable {
  readonly #options: SessionStormOptions
  readonly #directory = mkdtempSync(join(tmpdir(), 'stint-session-storm-'))
  readonly #writers: Writer[] = []
  readonly #counts = { serverKills: 0, cuts: 0, lostAnswers: 0, kills: 0 }
  #logs = 0

  constructor(options: SessionStormOptions) {
    this.#options = options
  }

  async rage(): Promise<SessionStormReport> {
    const { processes, strikes, appends } = this.#options
    const ids = Array.from({ length: processes }, (_, i) => `session-${i}`)
    await Promise.all(ids.map((id) => this.#start(id)))
    for (let round = 0; round < strikes; round++) {
      for (const strike of [
        () => this.#loseAnswers(),
        () => this.#cut(),
        () => this.#stop(),
        () => this.#kill(),
        () => this.#killServer(),
      ]) {
        await this.#moreAcknowledged(processes * 2)
        await strike()
      }
    }
    await until('all is acknowledged', () => this.#living() && this.#acknowledged() >= appends, 600_000)
    await this.#end()
    return { acknowledged: this.#acknowledged(), ...this.#counts, ...(await this.#verdict([...ids, shared])) }
  }

  async #start(id: string): Promise<void> {
    const { server, sessions, naive = false } = this.#options
    const logPath = join(this.#directory, String(this.#logs++))
    const [good, bad] = [server.directory, sessions.proxy.directory].map(encodeURIComponent) as [
      string,
      string,
    ]
    const url = server.url({ database: sessions.database }).replace(good, bad)
    const plan = { url, id, shared, logPath, callers: 4, naive }
    const file = join(projectRoot, 'test/fixtures/postgres-session-writer.mjs')
    const child = fork(file, [JSON.stringify(plan)], {
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
      env: { ...process.env, NODE_OPTIONS: '' },
      execArgv: [],
    })
    this.#writers.push({ id, child })
    await once(child, 'message')
  }

  /** What goes wrong with a writer ends the storm. */
  #living(): Writer[] {
    const failed = this.#writers.find(({ child }) => child.exitCode !== null && child.exitCode !== 0)
    if (failed !== undefined)
      throw new Error(`the writer of ${failed.id} ended with ${failed.child.exitCode}`)
    return this.#writers.filter(({ child }) => child.exitCode === null && child.signalCode === null)
  }

  #anybody(): Writer {
    const living = this.#living()
    return living[Math.floor(Math.random() * living.length)] as Writer
  }

  async #moreAcknowledged(more: number): Promise<void> {
    const before = this.#acknowledged()
    await until('more is acknowledged', () => this.#living() && this.#acknowledged() >= before + more)
  }

  /** The server carries it out, and nobody hears of it. */
  async #loseAnswers(): Promise<void> {
    const { proxy } = this.#options.sessions
    for (let n = 0; n < answersLost; n++) {
      const before = proxy.faults
      proxy.strike('head_sum = $6', 'cut after')
      await until('an answer is lost', () => proxy.faults > before)
      this.#counts.lostAnswers += 1
    }
  }

  async #cut(): Promise<void> {
    const { server, sessions } = this.#options
    await server.admin(
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '${sessions.database}' AND random() < 0.7`,
    )
    this.#counts.cuts += 1
  }

  /** Until somebody else has its session: when it wakes up, it must write nothing more. */
  async #stop(): Promise<void> {
    const { id, child } = this.#anybody()
    child.kill('SIGSTOP')
    await this.#options.sessions.store.unlock(id)
    await this.#start(id)
    const ended = once(child, 'exit')
    child.kill('SIGCONT')
    await ended
  }

  async #kill(): Promise<void> {
    const { id, child } = this.#anybody()
    const ended = once(child, 'exit')
    child.kill('SIGKILL')
    await ended
    this.#counts.kills += 1
    await this.#start(id)
  }

  async #killServer(): Promise<void> {
    await this.#options.server.kill()
    await this.#options.server.start()
    this.#counts.serverKills += 1
  }

  async #end(): Promise<void> {
    const living = this.#living()
    const ended = Promise.all(living.map(({ child }) => once(child, 'exit')))
    for (const { child } of living) child.send('stop')
    await ended
    this.#living()
  }

  #texts(): string[] {
    return readdirSync(this.#directory).map((name) => readFileSync(join(this.#directory, name), 'utf8'))
  }

  #acknowledged(): number {
    return this.#texts().reduce((sum, text) => sum + text.split('ack ').length - 1, 0)
  }

  async #verdict(ids: readonly string[]): Promise<Pick<SessionStormReport, 'fenced' | 'faults'>> {
    const { sessions } = this.#options
    const claims = readClaims(this.#texts())
    const faults: string[] = []
    // What is still in the spool comes in.
    await (await sessions.store.resume(shared)).close()
    for (const id of ids) {
      if (!(await sessions.isWhole(id))) faults.push(`${id} is damaged`)
      const lines = await sessions.sql(
        `SELECT (line::json ->> 'epoch')::int AS epoch FROM stint.journal JOIN stint.session ON key = session
        WHERE id = $1 AND line::json ->> 'type' = 'n' ORDER BY seq`,
        id,
      )
      const values = (await sessions.data(id)) as string[]
      faults.push(...judge(claims, { id, values, epochs: lines.map(({ epoch }) => Number(epoch)) }))
    }
    return { fenced: claims.fenced, faults }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const { child } of this.#writers) child.kill('SIGKILL')
    rmSync(this.#directory, { recursive: true, force: true })
  }
}
