import { close, fdatasync, fsync, open, statSync, write } from 'node:fs'
import { ifPossible } from '../errors/if-possible.ts'
import { errorCode } from '../errors/stint-error.ts'
import { systemClock } from '../process/clock.ts'
import { isTurnLong } from '../process/event-loop.ts'
import { type Disk, type Later, nodeDisk } from './disk.ts'

/** How fast the syncs of a file system were so far, in this process. */
export interface SyncPace {
  isSlow: boolean
  /** While they are slow: how many in a row were quick. */
  quick: number
  /** They stay slow until this time of the monotonic clock, in milliseconds, however many are quick. */
  slowUntilMs: number
}

/** A sync that takes longer, in milliseconds, makes a file system slow; others are quick. */
const slowMs = 2
/** This many quick syncs in a row make it quick again: fewer would let rare slow ones stop the loop often. */
const quickSyncs = 64
/**
 * A file system stays slow for this many times as long as its slow sync has kept the event loop. The next one
 * after that may be slow again: so in the long run they keep it for at most a 25th of the time.
 */
const slowTimes = 25

export const quickPace: SyncPace = { isSlow: false, quick: 0, slowUntilMs: 0 }

/** The pace after a sync that took this long, and ended at `nowMs`. */
export function paceAfter(pace: SyncPace, syncMs: number, nowMs: number): SyncPace {
  const isSlow = syncMs > slowMs
  if (!pace.isSlow) return isSlow ? { isSlow, quick: 0, slowUntilMs: nowMs + slowTimes * syncMs } : pace
  const quick = isSlow ? 0 : pace.quick + 1
  return quick < quickSyncs || nowMs < pace.slowUntilMs ? { ...pace, quick } : quickPace
}

const disks = new Map<number, Disk>()

/**
 * The disk of this machine for the file system of a path. Syncs of a slow file system, and the writes before
 * them, run in Node's thread pool. Those of a quick one stay on the event loop: there, a sync takes less time
 * than waiting for a thread. If the file system cannot be told, the operation itself will report why; until
 * then, such paths share a disk.
 */
export function adaptiveDiskAt(path: string): Disk {
  const dev = ifPossible(() => statSync(path).dev) ?? -1
  const disk = disks.get(dev) ?? adaptiveDisk()
  disks.set(dev, disk)
  return disk
}

/** Makes a disk that measures its syncs. */
function adaptiveDisk(): Disk {
  let pace = quickPace
  const note = (from: number): void => {
    const now = systemClock.mono()
    pace = paceAfter(pace, now - from, now)
  }
  const onLoop = (sync: () => void): Later => {
    const from = systemClock.mono()
    try {
      sync()
    } finally {
      note(from)
    }
    // Many syncs in a row must not keep the event loop.
    return isTurnLong() ? new Promise(setImmediate) : undefined
  }
  const inPool = (sync: (done: Done) => void): Promise<void> =>
    callInPool((done) => {
      const from = systemClock.mono()
      sync((error) => {
        note(from)
        done(error)
      })
    })
  return {
    ...nodeDisk,
    write: (file, bytes, from, position) =>
      pace.isSlow
        ? callInPool<number>((done) => write(file, bytes, from, bytes.length - from, position, done))
        : nodeDisk.write(file, bytes, from, position),
    sync: (file) =>
      pace.isSlow ? inPool((done) => fdatasync(file, done)) : onLoop(() => nodeDisk.sync(file)),
    syncDirectory: (path) =>
      pace.isSlow
        ? inPool((done) => syncDirectoryInPool(path, done))
        : onLoop(() => nodeDisk.syncDirectory(path)),
  }
}

type Done = (error: unknown, result?: unknown) => void

/** Node has four threads by default: the program needs some of them, too. */
const maxCalls = 2
let calls = 0
const waitingCalls: (() => void)[] = []

/**
 * Makes a call in the thread pool when fewer than `maxCalls` are under way, in the order in which they were
 * asked for. That is fair: a session has one operation under way, which makes one call at a time.
 */
async function callInPool<Result>(call: (done: Done) => void): Promise<Result> {
  if (calls < maxCalls) calls += 1
  // The call that ends before this one hands its place over.
  else await new Promise<void>((resolve) => waitingCalls.push(resolve))
  try {
    return await new Promise((resolve, reject) =>
      call((error, result) => (error == null ? resolve(result as Result) : reject(error))),
    )
  } finally {
    const next = waitingCalls.shift()
    if (next === undefined) calls -= 1
    else next()
  }
}

/** Some file systems refuse to sync a directory, with EINVAL, and do not need it. */
function syncDirectoryInPool(path: string, done: Done): void {
  open(path, 'r', (failed, fd) => {
    if (failed !== null) return done(failed)
    fsync(fd, (error) => close(fd, () => done(errorCode(error) === 'EINVAL' ? undefined : error)))
  })
}
