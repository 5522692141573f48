import { type ChildProcess, fork } from 'node:child_process'
import { join } from 'node:path'
import type { LockKind } from './lock-plants.ts'
import { readIfThere } from './read-if-there.ts'
import { isStopped, projectRoot } from './world.ts'

const program = join(projectRoot, 'test/fixtures/lock-contender.mjs')

/** How a contender is killed or stopped in a round. */
export interface Interruption {
  signal: 'SIGKILL' | 'SIGSTOP'
  /** By itself, `points` steps after it began to ask or to hold; or from outside, after a random time. */
  where: 'asking' | 'holding' | 'outside'
  points: number
}

/** A process that contends for a lock, round after round. */
export class Contender {
  /** When it was killed from outside. */
  killedAt: bigint | undefined
  exited = false
  readonly #child: ChildProcess
  /** The last round that it has finished; -1 before it is ready. */
  #done = -1
  #stderr = ''
  readonly #log: string
  #logTaken = 0

  constructor(lock: LockKind, directory: string, log: string) {
    this.#log = log
    this.#child = fork(program, [lock, directory, log], {
      stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
      env: { ...process.env, STINT_HOME: join(directory, 'home'), NODE_OPTIONS: '' },
      execArgv: [],
    })
    this.#child.stderr?.setEncoding('utf8').on('data', (text: string) => (this.#stderr += text))
    this.#child.on('message', ({ done }: { done: number }) => {
      this.#done = done
    })
    this.#child.on('exit', () => {
      this.exited = true
    })
  }

  begin(round: object): void {
    this.#child.send(round)
  }

  /** Resolves when it has finished this round or was killed. */
  async finished(round: number): Promise<void> {
    await this.#soon(() => this.exited || this.#done >= round)
    const { signalCode, exitCode } = this.#child
    if (this.exited && signalCode !== 'SIGKILL')
      throw new Error(`a contender ended by itself (${exitCode ?? signalCode}): ${this.#stderr}`)
  }

  async kill(): Promise<void> {
    this.killedAt = process.hrtime.bigint()
    this.#child.kill('SIGKILL')
    await this.#soon(() => this.exited)
  }

  stop(): void {
    this.#child.kill('SIGSTOP')
  }

  /** Resolves when it is stopped, to true, or when it has finished the round without a stop. */
  async isStoppedIn(round: number): Promise<boolean> {
    const pid = this.#child.pid ?? 0
    await this.#soon(() => this.exited || this.#done === round || isStopped(pid))
    return isStopped(pid)
  }

  resume(): void {
    this.#child.kill('SIGCONT')
  }

  /** The complete lines that it has logged since the last call. */
  takeLog(): string {
    const text = readIfThere(this.#log)
    const end = text.lastIndexOf('\n') + 1
    const lines = text.slice(this.#logTaken, end)
    this.#logTaken = end
    return lines
  }

  /** Polls more often than `until` does. */
  async #soon(condition: () => boolean): Promise<void> {
    const end = Date.now() + 60_000
    while (!condition()) {
      if (Date.now() > end) throw new Error(`contender ${this.#child.pid} hangs: ${this.#stderr}`)
      await new Promise((resolve) => setTimeout(resolve, 1))
    }
  }
}
