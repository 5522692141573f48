import { existsSync, mkdirSync, mkdtempSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fenceFaults, type Hold, overlapsOf, readHoldLog } from './hold-log.ts'
import { Contender, type Fate } from './lock-contender.ts'
import { type LockKind, type Plant, plants } from './lock-plants.ts'
import { seeded } from './random.ts'

export interface StormOptions {
  lock: LockKind
  processes: number
  rounds: number
  /** Where the lock lies; by default in memory, as disks are slow and the races the same. */
  under?: string
  /** The same number draws the same rounds (their timing is the machine's). */
  seed?: number
  /** Stop after a round when this says so. */
  enough?: (report: StormReport) => boolean
}

export interface StormReport {
  lock: LockKind
  seed: number
  rounds: number
  grants: number
  kills: number
  /** Killed while they held it. */
  killedHolders: number
  stops: number
  /** Leases that ran out while their holder was stopped, and the holder learned it. */
  lapses: number
  /** Leases that stood, but whose release answered that there was nothing to release. */
  unheard: number
  /** Pairs of hold intervals that overlap. */
  overlaps: string[]
  /** What the sentinel saw. */
  doubles: string[]
  /** Fences that do not increase, and leases that were lost before their time. */
  faults: string[]
}

/** In memory if the machine can. */
export const fastDirectory = existsSync('/dev/shm') ? '/dev/shm' : tmpdir()

/**
 * Long-lived processes contend for one lock, round after round: a dead lock is planted, all of them are released at the same moment, and
 * some are killed or stopped meanwhile, by themselves between two file-system calls or from outside at any point. Two independent detectors look for
 * two holders at a time: the intervals that the contenders wrote down, and a sentinel file in the critical section.
 */
export async function lockStorm(options: StormOptions): Promise<StormReport> {
  await using field = new Field(options)
  for (let round = 0; round < options.rounds && !options.enough?.(field.report); round++) await field.round()
  return field.report
}

export const summary = (report: StormReport): string =>
  `${report.lock}: ${report.rounds} rounds, ${report.grants} grants, ${report.kills} killed ` +
  `(${report.killedHolders} as holders), ${report.stops} stopped (${report.lapses} leases ran out), ${report.unheard} releases unheard: ` +
  `${report.overlaps.length} overlaps, ${report.doubles.length} seen by the sentinel, ` +
  `${report.faults.length} faults (seed ${report.seed})`

class Field implements AsyncDisposable {
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
    await this.#everybodyReady()
    await this.#plant.plant()
    // Every tenth round its leases are short, and stops outlast them.
    const lapsing = number % 10 === 0
    const ttlMs = lapsing ? 120 : 600_000
    const fates = this.#drawFates(lapsing)
    const plan = {
      number,
      at: String(process.hrtime.bigint() + 3_000_000n),
      windowMs: lapsing ? 2 * ttlMs : 5 + this.#random() * 20,
      holdMs: this.#random() * 4,
      way: this.#random() < 0.3 ? 'async' : 'sync',
      pauses: this.#random() < 0.5,
      refreshes: lapsing || this.#random() < 0.3 ? 0.2 : 0,
      ttlMs,
    }
    for (const contender of this.#contenders) contender.begin({ ...plan, fate: fates.get(contender) })
    await Promise.all([
      ...[...fates].map(([contender, fate]) => this.#strike(contender, fate, number, lapsing ? ttlMs : 0)),
      ...this.#contenders.map((contender) => contender.finished(number)),
    ])
    this.#judge()
  }

  /** Only the killed are replaced. */
  async #everybodyReady(): Promise<void> {
    this.#contenders = this.#contenders.filter(({ exited }) => !exited)
    while (this.#contenders.length < this.#options.processes) {
      // Not named after its pid: a long storm sees pids again.
      const log = join(this.#directory, 'logs', String(++this.#started))
      this.#contenders.push(new Contender(this.#options.lock, this.#directory, log))
    }
    await Promise.all(this.#contenders.map((contender) => contender.finished(0)))
  }

  /** Most who are to be struck as holders never come to hold it. */
  #drawFates(lapsing: boolean): Map<Contender, Fate> {
    const fates = new Map<Contender, Fate>()
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
      fates.set(contender, { signal, where, points })
    }
    return fates
  }

  async #strike(contender: Contender, fate: Fate, number: number, outlastMs: number): Promise<void> {
    if (fate.where === 'outside') {
      await pause(this.#random() * 15)
      if (fate.signal === 'SIGKILL') await contender.kill()
      else contender.stop()
    }
    if (fate.signal === 'SIGKILL') return
    // Where its code was shorter than the point drawn, nothing has happened.
    if (await contender.isStoppedIn(number)) {
      this.report.stops++
      await pause(outlastMs * 1.5 + this.#random() * 20)
    }
    contender.goOn()
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
      if (open !== undefined && !contender.exited) throw new Error(`${open.session} never left`)
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
    this.#plant.end?.()
    rmSync(this.#directory, { recursive: true, force: true, maxRetries: 5 })
  }
}

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))
