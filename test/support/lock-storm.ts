import { type ChildProcess, fork, spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { acquireLeaseSync, type Lease } from '../../src/lease/lease.ts'
import { homeRegister } from '../../src/lease/lock-home.ts'
import { readProcessStat } from '../../src/primitives/platform.ts'
import { projectRoot } from './world.ts'

export type LockKind = 'lease' | 'read-then-write' | 'proper-lockfile'

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

interface Contender {
  child: ChildProcess
  pid: number
  /** The last round it has finished; -1 before it is ready. */
  done: number
  exited: boolean
  /** When it was killed. */
  killedAt?: bigint
  log: string
  /** How much of its log was read. */
  logTaken: number
  stderr: string
}

interface Fate {
  signal: 'SIGKILL' | 'SIGSTOP'
  /** By its own hand, this many points of its code after it began to ask or to hold; else from outside, after a while. */
  where: 'asking' | 'holding' | 'outside'
  points: number
}

interface Hold {
  session: string
  fence: number
  enter: bigint
  end: bigint
  /** Until when the lease lasted, at the least. */
  lasts: bigint
}

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
    this.#random = randomFrom(seed)
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
    for (const contender of this.#contenders) contender.child.send({ ...plan, fate: fates.get(contender) })
    await Promise.all([
      ...[...fates].map(([contender, fate]) => this.#strike(contender, fate, number, lapsing ? ttlMs : 0)),
      ...this.#contenders.map((contender) => this.#finished(contender, number)),
    ])
    this.#judge()
  }

  /** Only the killed are replaced. */
  async #everybodyReady(): Promise<void> {
    this.#contenders = this.#contenders.filter(({ exited }) => !exited)
    while (this.#contenders.length < this.#options.processes) this.#contenders.push(this.#start())
    await Promise.all(this.#contenders.map((contender) => this.#finished(contender, 0)))
  }

  #start(): Contender {
    const home = join(this.#directory, 'home')
    // Not named after its pid: a long storm sees pids again.
    const log = join(this.#directory, 'logs', String(++this.#started))
    const child = fork(contenderFile, [this.#options.lock, this.#directory, log], {
      stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
      env: { ...process.env, STINT_HOME: home, NODE_OPTIONS: '' },
      execArgv: [],
    })
    const pid = child.pid ?? 0
    const contender: Contender = { child, pid, done: -1, exited: false, log, logTaken: 0, stderr: '' }
    child.stderr?.setEncoding('utf8').on('data', (text: string) => (contender.stderr += text))
    child.on('message', ({ done }: { done: number }) => {
      contender.done = done
    })
    child.on('exit', () => {
      contender.exited = true
    })
    return contender
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
      if (fate.signal === 'SIGKILL') contender.killedAt = process.hrtime.bigint()
      contender.child.kill(fate.signal)
      if (fate.signal === 'SIGKILL') await soon(() => contender.exited, contender)
    }
    if (fate.signal === 'SIGKILL') return
    const isOver = () => contender.exited || contender.done === number
    await soon(() => isOver() || isStopped(contender.pid), contender)
    // Where its code was shorter than the point drawn, nothing has happened.
    if (isStopped(contender.pid)) {
      this.report.stops++
      await pause(outlastMs * 1.5 + this.#random() * 20)
    }
    contender.child.kill('SIGCONT')
  }

  async #finished(contender: Contender, number: number): Promise<void> {
    await soon(() => contender.exited || contender.done >= number, contender)
    if (!contender.exited) return
    const { signalCode, exitCode } = contender.child
    if (signalCode !== 'SIGKILL')
      throw new Error(`a contender ended by itself (${exitCode ?? signalCode}): ${contender.stderr}`)
  }

  /** Rounds do not overlap, so each can be judged by itself. */
  #judge(): void {
    const { report } = this
    report.kills += this.#contenders.filter(({ exited }) => exited).length
    const holds = this.#contenders.flatMap((contender) => this.#readLog(contender))
    holds.sort((a, b) => (a.enter < b.enter ? -1 : 1))
    report.grants += holds.length
    report.overlaps.push(...overlapsOf(holds).map((text) => `round ${report.rounds}: ${text}`))
    if (this.#options.lock !== 'lease') return
    const fences = new Set(holds.map(({ fence }) => fence))
    if (fences.size < holds.length) report.faults.push(`round ${report.rounds}: a fence was given twice`)
    for (const { session, fence, enter, lasts } of holds) {
      // Stopped between its grant and the next line of its code: the lease was over before it could say so.
      if (enter > lasts) continue
      if (fence <= this.#fence)
        report.faults.push(`round ${report.rounds}: ${session} got fence ${fence} after ${this.#fence}`)
      this.#fence = Math.max(this.#fence, fence)
    }
  }

  /** What one contender held in this round. */
  #readLog(contender: Contender): Hold[] {
    const { report } = this
    const { killedAt, exited } = contender
    const holds = new Map<string, Hold>()
    const open = new Set<Hold>()
    let death = killedAt
    for (const line of takeLines(contender)) {
      const [what, session = '', fence, time = '0', until = '0'] = line.split(' ')
      const at = BigInt(time)
      const lasts = BigInt(until)
      const hold = holds.get(session)
      if (what === 'die') death = at
      else if (what === 'double') report.doubles.push(`round ${report.rounds}: ${session} and ${fence}`)
      else if (what === 'enter') {
        const entered = { session, fence: Number(fence), enter: at, end: at, lasts }
        holds.set(session, entered)
        open.add(entered)
      } else if (hold === undefined) throw new Error(`a hold without an entry: ${line}`)
      // A refresh that succeeds says that nobody had it in between, even if it had run out.
      else if (what === 'fresh') hold.lasts = lasts
      else {
        if (open.delete(hold)) hold.end = earlier(at, hold.lasts)
        if (what === 'leave') continue
        if (what === 'unreleased' && at < hold.lasts) report.unheard++
        if (what === 'lost') report.lapses++
        if (what === 'lost' && at < hold.lasts)
          report.faults.push(`round ${report.rounds}: ${session} lost its lease before its time`)
      }
    }
    for (const hold of open) {
      if (death === undefined || !exited) throw new Error(`${hold.session} never left`)
      report.killedHolders++
      hold.end = earlier(death, hold.lasts)
    }
    return [...holds.values()]
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const living = this.#contenders.filter(({ exited }) => !exited)
    for (const { child } of living) child.kill('SIGKILL')
    await Promise.all(living.map((contender) => soon(() => contender.exited, contender)))
    this.#plant.end?.()
    rmSync(this.#directory, { recursive: true, force: true, maxRetries: 5 })
  }
}

const contenderFile = join(projectRoot, 'test/fixtures/lock-contender.mjs')

/** Intervals sorted by entry; one that ends when the next begins does not overlap it. */
function overlapsOf(holds: readonly Hold[]): string[] {
  const found: string[] = []
  let last: Hold | undefined
  for (const hold of holds) {
    if (hold.end <= hold.enter) continue
    if (last !== undefined && hold.enter < last.end)
      found.push(`${last.session} and ${hold.session} for ${earlier(last.end, hold.end) - hold.enter} ns`)
    if (last === undefined || hold.end > last.end) last = hold
  }
  return found
}

interface Plant {
  plant: () => Promise<void>
  end?: () => void
}

/** How to leave each kind of lock as somebody who died with it would. */
const plants: Record<LockKind, (directory: string) => Plant> = {
  lease: (directory) => {
    const register = homeRegister({ STINT_HOME: join(directory, 'home') })
    const workspace = join(directory, 'workspace')
    let planted = 0
    let last: Lease | undefined
    // It comes a round late, so it finds nothing of its own: a slow writer, whose epoch may be long gone.
    const end = () => void last?.releaseSync()
    return {
      async plant() {
        end()
        const holder = spawn('sleep', ['600'], { stdio: 'ignore' })
        await once(holder, 'spawn')
        try {
          // Whoever had it has let go, is dead or knows that it is lost: nobody waits for that.
          last = acquireLeaseSync({ sessionId: `dead-${++planted}`, workspace, register, pid: holder.pid })
        } finally {
          holder.kill('SIGKILL')
          await once(holder, 'exit')
        }
      },
      end,
    }
  },
  'read-then-write': (directory) => ({
    async plant() {
      const record = { schema_version: 1, session_id: 'dead', pid: 1, acquired_at: 1, ttl_ms: 1 }
      writeFileSync(join(directory, 'seed.json'), JSON.stringify(record))
    },
  }),
  'proper-lockfile': (directory) => ({
    async plant() {
      const path = join(directory, 'proper.lock')
      mkdirSync(path, { recursive: true })
      utimesSync(path, 1, 1)
    },
  }),
}

/** The lines written since they were last taken. */
function takeLines(contender: Contender): string[] {
  if (!existsSync(contender.log)) return []
  const text = readFileSync(contender.log, 'utf8')
  const end = text.lastIndexOf('\n') + 1
  const lines = text.slice(contender.logTaken, end).split('\n')
  contender.logTaken = end
  return lines.filter((line) => line !== '')
}

const earlier = (a: bigint, b: bigint): bigint => (a < b ? a : b)
const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))

/** The processes a test steers are looked at more often than `until` does. */
async function soon(condition: () => boolean, { pid, child }: Contender): Promise<void> {
  const end = Date.now() + 60_000
  while (!condition()) {
    if (Date.now() > end) throw new Error(`contender ${pid} hangs (${child.exitCode ?? child.signalCode})`)
    await pause(1)
  }
}

const isStopped = (pid: number): boolean => readProcessStat(pid)?.state === 'T'

/** Mulberry32. */
function randomFrom(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}
