import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { judgeHolds, type StormVerdict } from './postgres-storm-verdict.ts'
import type { PostgresServer } from './postgres.ts'
import { projectRoot, until } from './world.ts'

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

export interface PostgresStormReport extends StormVerdict {
  serverKills: number
  cuts: number
  stops: number
  kills: number
}

interface Contender {
  child: ChildProcess
  log: string
  /** On the clock that all processes share. */
  killedAt?: bigint
}

const ttlMs = 400

/** An hour ahead, an hour behind, right. */
const skews = [0, 3_600_000, -3_600_000, 90_000]

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
  readonly #directory = mkdtempSync(join(tmpdir(), 'stint-pg-storm-'))
  readonly #contenders: Contender[] = []
  readonly #counts = { serverKills: 0, cuts: 0, stops: 0, kills: 0 }

  constructor(options: PostgresStormOptions) {
    this.#options = options
  }

  async rage(): Promise<PostgresStormReport> {
    const { processes, strikes, enough } = this.#options
    await Promise.all(Array.from({ length: processes }, () => this.#start()))
    await this.#somebodyGetsIt(processes)
    const goOn = (): boolean => !enough?.(this.#verdict())
    for (let round = 0; round < strikes && goOn(); round++) {
      for (const strike of [
        () => this.#cut(),
        () => this.#stop(),
        () => this.#kill(),
        () => this.#killServer(),
      ]) {
        await strike()
        await this.#somebodyGetsIt(3)
      }
    }
    await this.#end()
    return { ...this.#verdict(), ...this.#counts }
  }

  async #start(): Promise<void> {
    const { server, database, broken = false } = this.#options
    const number = this.#contenders.length
    const log = join(this.#directory, String(number))
    const skewMs = skews[number % skews.length]
    const plan = { url: server.url({ database }), logPath: log, ttlMs, skewMs, broken }
    const file = join(projectRoot, 'test/fixtures/postgres-contender.mjs')
    const child = fork(file, [JSON.stringify(plan)], {
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
      env: { ...process.env, NODE_OPTIONS: '' },
      execArgv: [],
    })
    this.#contenders.push({ child, log })
    await once(child, 'message')
  }

  /** What goes wrong with a contender ends the storm. */
  #living(): Contender[] {
    const failed = this.#contenders.find(({ child }) => child.exitCode !== null && child.exitCode !== 0)
    if (failed !== undefined) throw new Error(`a contender ended with ${failed.child.exitCode}`)
    return this.#contenders.filter(({ child }) => child.exitCode === null && child.signalCode === null)
  }

  /** Who holds it, by what it has written last; a moment later it may have let go. */
  async #holder(): Promise<Contender> {
    let holder: Contender | undefined
    await until('somebody holds it', () => {
      holder = this.#living().find(({ log }) => /(?:enter|fresh) [^\n]*\n$/.test(readIfThere(log)))
      return holder
    })
    if (holder === undefined) throw new Error('somebody does')
    return holder
  }

  async #somebodyGetsIt(times: number): Promise<void> {
    const before = this.#grants()
    await until('the lease is had again', () => this.#living() && this.#grants() >= before + times)
  }

  async #cut(): Promise<void> {
    const { server, database } = this.#options
    await server.admin(
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '${database}' AND random() < 0.7`,
    )
    this.#counts.cuts += 1
  }

  /** For longer than its lease lasts, if it has one: by then somebody else does. */
  async #stop(): Promise<void> {
    const { child } = await this.#holder()
    child.kill('SIGSTOP')
    this.#counts.stops += 1
    const end = Date.now() + ttlMs * 1.5
    await until('its lease is over', () => Date.now() > end)
    await this.#somebodyGetsIt(1)
    child.kill('SIGCONT')
  }

  async #kill(): Promise<void> {
    const contender = await this.#holder()
    const ended = once(contender.child, 'exit')
    contender.killedAt = process.hrtime.bigint()
    contender.child.kill('SIGKILL')
    await ended
    this.#counts.kills += 1
    await this.#start()
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

  #grants(): number {
    return this.#logs().reduce((sum, { text }) => sum + text.split('enter ').length - 1, 0)
  }

  #verdict(): StormVerdict {
    return judgeHolds(this.#logs())
  }

  #logs(): { text: string; killedAt?: bigint }[] {
    return this.#contenders.map(({ log, killedAt }) => ({ text: readIfThere(log), killedAt }))
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const { child } of this.#contenders) child.kill('SIGKILL')
    rmSync(this.#directory, { recursive: true, force: true })
  }
}

function readIfThere(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return ''
  }
}
