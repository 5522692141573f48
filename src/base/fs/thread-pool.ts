import { close, fdatasync, fsync, open, statSync, write } from 'node:fs'
import { ifPossible } from '../errors/if-possible.ts'
import { errorCode } from '../errors/stint-error.ts'
import { systemClock } from '../process/clock.ts'
import type { OffLoop } from './disk-queue.ts'
import type { SlowCall } from './disk-steps.ts'

/** How fast the syncs of a file system were so far, in this process. */
export interface SyncPace {
  isSlow: boolean
  /** While they are slow: how many in a row were quick. */
  quick: number
  /** They stay slow until this time of the monotonic clock, in milliseconds, however many are quick. */
  slowUntilMs: number
}

/** A sync that takes longer, in milliseconds, makes a file system slow. */
const slowMs = 2
/** This many syncs in a row that take less than `quickMs` make it quick again. */
const quickMs = 1
const quickSyncs = 64
/**
 * A file system stays slow for this many times as long as its slow sync has kept the event loop. The next one
 * after that may be slow again: so in the long run they keep it for at most a 25th of the time.
 */
const slowTimes = 25

export const quickPace: SyncPace = { isSlow: false, quick: 0, slowUntilMs: 0 }

/** The pace after a sync that took this long, and ended at `nowMs`. */
export function paceAfter(pace: SyncPace, syncMs: number, nowMs: number): SyncPace {
  if (!pace.isSlow)
    return syncMs > slowMs ? { isSlow: true, quick: 0, slowUntilMs: nowMs + slowTimes * syncMs } : pace
  const quick = syncMs < quickMs ? pace.quick + 1 : 0
  return quick < quickSyncs || nowMs < pace.slowUntilMs ? { ...pace, quick } : quickPace
}

/**
 * Syncs of a slow file system, and the writes before them, run in Node's thread pool. Those of a quick one
 * stay on the event loop: there, a sync takes less time than waiting for a thread.
 */
class ThreadPool implements OffLoop {
  #pace = quickPace

  get isNeeded(): boolean {
    return this.#pace.isSlow
  }

  note(syncMs: number): void {
    this.#pace = paceAfter(this.#pace, syncMs, systemClock.mono())
  }

  call(step: SlowCall, done: (error: unknown, result?: unknown) => void): void {
    inTurn((finish) => {
      const from = systemClock.mono()
      callInPool(step, (error, result) => {
        if (step.call !== 'write') this.note(systemClock.mono() - from)
        finish()
        done(error, result)
      })
    })
  }
}

const pools = new Map<number, ThreadPool>()

/**
 * The thread pool for the file system of a path. If that cannot be told, the operation itself will report
 * why; until then, such paths share a pool.
 */
export function threadPoolAt(path: string): OffLoop {
  const dev = ifPossible(() => statSync(path).dev) ?? -1
  const pool = pools.get(dev) ?? new ThreadPool()
  pools.set(dev, pool)
  return pool
}

/** Node has four threads by default: the program needs some of them, too. */
const maxJobs = 2
let jobs = 0
const waiting: (() => void)[] = []

/**
 * Starts a job when fewer than `maxJobs` run, in the order of the calls. That is fair: a session has one
 * operation under way, which makes one call at a time.
 */
function inTurn(start: (finish: () => void) => void): void {
  const finish = (): void => {
    jobs -= 1
    waiting.shift()?.()
  }
  const begin = (): void => {
    jobs += 1
    start(finish)
  }
  if (jobs < maxJobs) begin()
  else waiting.push(begin)
}

type Done = (error: unknown, result?: unknown) => void

function callInPool(step: SlowCall, done: Done): void {
  if (step.call === 'sync') fdatasync(step.file, done)
  else if (step.call === 'syncDirectory') syncDirectoryInPool(step.path, done)
  else write(step.file, step.bytes, step.from, step.bytes.length - step.from, step.position, done)
}

/** Some file systems refuse to sync a directory, with EINVAL, and do not need it. */
function syncDirectoryInPool(path: string, done: Done): void {
  open(path, 'r', (failed, fd) => {
    if (failed !== null) return done(failed)
    fsync(fd, (error) => close(fd, () => done(errorCode(error) === 'EINVAL' ? undefined : error)))
  })
}
