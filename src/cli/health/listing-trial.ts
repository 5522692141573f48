import { mkdirSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { systemClock } from '../../base/process/clock.ts'
import { type Check, fail, ok, warn } from './check.ts'

/** The result of listing a directory again and again while another thread changes it. */
interface ListingTrial {
  listings: number
  /** How many listings showed something new; without any, the trial proves nothing. */
  changes: number
  /** How many listings showed neither what an earlier one had shown nor anything newer. */
  old: number
}

/**
 * A thread that takes numbers as the register of leases does: each with an exclusive create, and an old one
 * is removed only when newer ones exist. So no reader ever sees a highest number that is lower than one seen
 * before.
 */
const writer = `
  const { workerData } = require('node:worker_threads')
  const { symlinkSync, unlinkSync } = require('node:fs')
  for (let last = 1; ; last++) {
    symlinkSync('x'.repeat(200), workerData + '/' + last)
    if (last > 4) unlinkSync(workerData + '/' + (last - 4))
  }
`

const enoughChanges = 300
const longestMs = 3000

/** Tries whether a listing always shows the present entries of a small directory, as leases need it. */
export async function tryListing(directory: string): Promise<ListingTrial> {
  const { Worker } = await import('node:worker_threads')
  const path = join(directory, 'listing')
  mkdirSync(path, 0o700)
  const worker = new Worker(writer, { eval: true, workerData: path, stderr: true })
  const ended = new Promise<void>((resolve, reject) =>
    worker.once('error', reject).once('exit', () => resolve()),
  )
  ended.catch(() => {})
  try {
    return await Promise.race([watchListings(path), ended.then(() => watchListings(path, 0))])
  } finally {
    await worker.terminate()
  }
}

async function watchListings(path: string, withinMs: number = longestMs): Promise<ListingTrial> {
  const trial: ListingTrial = { listings: 0, changes: 0, old: 0 }
  const end = systemClock.mono() + withinMs
  let highest = 0
  while (trial.changes < enoughChanges && systemClock.mono() < end) {
    // A few at a time, so that the event loop can deliver a signal or the worker's error.
    for (let count = 0; count < 50; count++) {
      const high = Math.max(0, ...readdirSync(path).map(Number))
      trial.listings += 1
      if (high < highest) trial.old += 1
      if (high > highest) trial.changes += 1
      highest = Math.max(highest, high)
    }
    await new Promise((resolve) => setImmediate(resolve))
  }
  return trial
}

export function judgeListing({ listings, changes, old }: ListingTrial): Check {
  const name = 'home listing'
  const fix =
    'Set STINT_HOME to a directory on a local disk: leases are safe only where a listing is never out of date.'
  if (old > 0) return fail(name, `${old} of ${listings} listings were older than the one before`, fix)
  if (changes === 0) return warn(name, 'files that another thread wrote stayed invisible for seconds', fix)
  return ok(name, `${listings} listings during writes: none was older than the one before`)
}
