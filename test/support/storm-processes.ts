import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { PostgresServer } from './postgres.ts'
import { readIfThere } from './read-if-there.ts'
import { projectRoot } from './world.ts'

/** One process of a storm, with the file in which it logs its actions. */
export interface StormProcess {
  name: string
  child: ChildProcess
  log: string
  /** On the monotonic clock, which all processes share. */
  killedAt?: bigint
}

/** Processes that use a server without pause, and the means to kill, suspend and disconnect them. */
export class StormProcesses implements AsyncDisposable {
  readonly counts = { serverKills: 0, cuts: 0, kills: 0 }
  readonly #program: string
  readonly #server: PostgresServer
  readonly #database: string
  readonly #directory = mkdtempSync(join(tmpdir(), 'stint-storm-'))
  readonly #all: StormProcess[] = []

  constructor(fixture: string, server: PostgresServer, database: string) {
    this.#program = join(projectRoot, 'test/fixtures', fixture)
    this.#server = server
    this.#database = database
  }

  /** Resolves when the process is ready. */
  async start(name: string, plan: object): Promise<void> {
    const log = join(this.#directory, String(this.#all.length))
    const child = fork(this.#program, [JSON.stringify({ ...plan, logPath: log })], {
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
      env: { ...process.env, NODE_OPTIONS: '' },
      execArgv: [],
    })
    this.#all.push({ name, child, log })
    await once(child, 'message')
  }

  /** The number of processes started so far. */
  get started(): number {
    return this.#all.length
  }

  /** Throws if a process ended with an error. */
  living(): StormProcess[] {
    const failed = this.#all.find(({ child }) => child.exitCode !== null && child.exitCode !== 0)
    if (failed !== undefined) throw new Error(`${failed.name} ended with ${failed.child.exitCode}`)
    return this.#all.filter(({ child }) => child.exitCode === null && child.signalCode === null)
  }

  async kill(victim: StormProcess): Promise<void> {
    const ended = once(victim.child, 'exit')
    victim.killedAt = process.hrtime.bigint()
    victim.child.kill('SIGKILL')
    await ended
    this.counts.kills += 1
  }

  /** Terminates most of the connections on the server. */
  async cut(): Promise<void> {
    await this.#server.admin(
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '${this.#database}' AND random() < 0.7`,
    )
    this.counts.cuts += 1
  }

  async killServer(): Promise<void> {
    await this.#server.kill()
    await this.#server.start()
    this.counts.serverKills += 1
  }

  /** Lets every process finish its current operation. */
  async end(): Promise<void> {
    const living = this.living()
    const ended = Promise.all(living.map(({ child }) => once(child, 'exit')))
    for (const { child } of living) child.send('stop')
    await ended
    this.living()
  }

  logs(): { text: string; killedAt?: bigint }[] {
    return this.#all.map(({ log, killedAt }) => ({ text: readIfThere(log), killedAt }))
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const { child } of this.#all) child.kill('SIGKILL')
    rmSync(this.#directory, { recursive: true, force: true })
  }
}
