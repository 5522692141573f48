import { existsSync, mkdirSync, mkdtempSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fenceFaults, type Hold, overlapsOf, readHoldLog } from './hold-log.ts'
import { Contender, type Interruption } from './lock-contender.ts'
import { type LockKind, type Plant, plants } from './lock-plants.ts'
import { seeded } from './random.ts'

export interface StormOptions {
  lock: LockKind
  processes: number
  rounds: number
  /** The directory of the lock; by default in memory, where the races are the same and the calls faster. */
  under?: string
  /** The same seed draws the same rounds; only their timing differs. */
  seed?: number
  /** Ends the storm after a round if it returns true. */
  enough?: (report: StormReport) => boolean
}

export interface StormReport {
  lock: LockKind
  seed: number
  rounds: number
  grants: number
  kills: number
  /** How many were killed while they held the lock. */
  killedHolders: number
  stops: number
  /** Leases that expired while their holder was stopped, and whose holder noticed. */
  lapses: number
  /** Leases in force whose release answered that there was nothing to release. */
  unheard: number
  /** Pairs of hold intervals that overlap. */
  overlaps: string[]
  /** Two holders at once, as the sentinel file shows them. */
  doubles: string[]
  /** Fences that do not increase, and leases that were lost before their time. */
  faults: string[]
}

/** A directory in memory, if the machine has one. */
export const fastDirectory = existsSync('/dev/shm') ? '/dev/shm' : tmpdir()

/**
 * Long-lived processes contend for one lock, round after round: a dead lock is planted, all start at the same
 * moment, and some are killed or stopped, by themselves between two file-system calls or from outside at any
 * point. Two independent detectors look for two holders at once: the intervals that the contenders log, and a
 * sentinel file in the critical section.
 */
export async function lockStorm(options: StormOptions): Promise<StormReport> {
  await using storm = new Storm(options)
  for (let round = 0; round < options.rounds && !options.enough?.(storm.report); round++) await storm.round()
  return storm.report
}

export const summary = (report: StormReport): string =>
  `${report.lock}: ${report.rounds} rounds, ${report.grants} grants, ${report.kills} killed ` +
  `(${report.killedHolders} as holders), ${report.stops} stopped (${report.lapses} leases expired), ${report.unheard} releases unheard: ` +
  `${report.overlaps.length} overlaps, ${report.doubles.length} seen by the sentinel, ` +
  `${report.faults.length} faults (seed ${report.seed})`

class Storm implements AsyncDisposable {
  readonly report: StormReport
  readonly #options: StormOptions
  readonly #directory: string
  readonly #random: () => number
  readonly #plant: Plant
  #contenders: Contender[] = []
  #fence = 0
  #started = 0

  constructor(options: StormOptions) {
    const { lock, under = fastDirectory, seed = Math.floor(Math.random() * 2 ** 32) } = options
    this.#options = options
    this.#directory = realpathSync(mkdtempSync(join(under, 'stint-storm-')))
    for (const name of ['home', 'workspace', 'logs']) mkdirSync(join(this.#directory, name), { mode: 0o700 })
    this.#random = seeded(seed)
    this.#plant = plants[lock](this.#directory)
    this.report = {
      lock,
      seed,
      rounds: 0,
      grants: 0,
      kills: 0,
      killedHolders: 0,
      stops: 0,
      lapses: 0,
      unheard: 0,
      overlaps: [],
      doubles: [],
      faults: [],
    }
  }

  async round(): Promise<void> {
    const number = ++this.report.rounds
    await this.#startContenders()
    await this.#plant.plant()
    // In every tenth round the leases are short, and stops last longer than they do.
    const lapsing = number % 10 === 0
    const ttlMs = lapsing ? 120 : 600_000
    const interruptions = this.#drawInterruptions(lapsing)
    const plan = {
      number,
      at: String(process.hrtime.bigint() + 3_000_000n),
      windowMs: lapsing ? 2 * ttlMs : 5 + this.#random() * 20,
      holdMs: this.#random() * 4,
      way: this.#random() < 0.3 ? 'waiting' : 'trying',
      pauses: this.#random() < 0.5,
      refreshes: lapsing || this.#random() < 0.3 ? 0.2 : 0,
      ttlMs,
    }
    for (const contender of this.#contenders)
      contender.begin({ ...plan, interruption: interruptions.get(contender) })
    await Promise.all([
      ...[...interruptions].map(([contender, each]) =>
        this.#interrupt(contender, each, number, lapsing ? ttlMs : 0),
      ),
      ...this.#contenders.map((contender) => contender.finished(number)),
    ])
    this.#judge()
  }

  /** Replaces the contenders that were killed. */
  async #startContenders(): Promise<void> {
    this.#contenders = this.#contenders.filter(({ exited }) => !exited)
    while (this.#contenders.length < this.#options.processes) {
      // The name is not the pid: a long storm meets reused pids.
      const log = join(this.#directory, 'logs', String(++this.#started))
      this.#contenders.push(new Contender(this.#options.lock, this.#directory, log))
    }
    await Promise.all(this.#contenders.map((contender) => contender.finished(0)))
  }

  /** Draws more interruptions of holders, as most contenders never hold the lock in a round. */
  #drawInterruptions(lapsing: boolean): Map<Contender, Interruption> {
    const drawnFor = new Map<Contender, Interruption>()
    for (const contender of this.#contenders) {
      const drawn = this.#random()
      const where =
        drawn < 0.05
          ? 'outside'
          : drawn < 0.12
            ? 'asking'
            : drawn < (lapsing ? 0.5 : 0.3)
              ? 'holding'
              : undefined
      if (where === undefined) continue
      const signal = this.#random() < (lapsing ? 0.2 : 0.5) ? 'SIGKILL' : 'SIGSTOP'
      const points = 1 + Math.floor(this.#random() * (where === 'asking' ? 24 : 8))
      drawnFor.set(contender, { signal, where, points })
    }
    return drawnFor
  }

  async #interrupt(
    contender: Contender,
    interruption: Interruption,
    number: number,
    outlastMs: number,
  ): Promise<void> {
    if (interruption.where === 'outside') {
      await pause(this.#random() * 15)
      if (interruption.signal === 'SIGKILL') await contender.kill()
      else contender.stop()
    }
    if (interruption.signal === 'SIGKILL') return
    // A contender whose code has fewer points than drawn is not stopped.
    if (await contender.isStoppedIn(number)) {
      this.report.stops++
      await pause(outlastMs * 1.5 + this.#random() * 20)
    }
    contender.resume()
  }

  /** Rounds do not overlap, so each can be judged by itself. */
  #judge(): void {
    const { report } = this
    const inThisRound = (texts: readonly string[]): string[] =>
      texts.map((text) => `round ${report.rounds}: ${text}`)
    report.kills += this.#contenders.filter(({ exited }) => exited).length
    const holds: Hold[] = []
    for (const contender of this.#contenders) {
      const log = readHoldLog(contender.takeLog(), { killedAt: contender.killedAt })
      const [open] = log.unfinished
      if (open !== undefined && !contender.exited) throw new Error(`${open.session} never released`)
      holds.push(...log.holds)
      report.killedHolders += log.unfinished.length
      report.lapses += log.lapses
      report.unheard += log.unheard
      report.doubles.push(...inThisRound(log.doubles))
      report.faults.push(...inThisRound(log.faults))
    }
    report.grants += holds.length
    report.overlaps.push(...inThisRound(overlapsOf(holds)))
    if (this.#options.lock !== 'lease') return
    const { faults, highest } = fenceFaults(holds, this.#fence)
    report.faults.push(...inThisRound(faults))
    this.#fence = highest
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#contenders.filter(({ exited }) => !exited).map((contender) => contender.kill()))
    await this.#plant.end?.()
    rmSync(this.#directory, { recursive: true, force: true, maxRetries: 5 })
  }
}

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))
