import { mkdirSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { systemClock } from '../../base/process/clock.ts'

/** What came of listing a directory again and again while somebody else changed it. */
export interface ListingTrial {
  listings: number
  /** How many of them showed something new: without that nothing is proved. */
  changes: number
  /** Listings that did not show what one before them had, nor anything newer. */
  old: number
}

/**
 * Somebody who takes numbers as a lock does: each by an exclusive create, an old one given up only when newer ones are there. So whoever lists the
 * directory never sees a highest that is lower than one seen before.
 */
const rival = `
  const { workerData } = require('node:worker_threads')
  const { symlinkSync, unlinkSync } = require('node:fs')
  for (let last = 1; ; last++) {
    symlinkSync('x'.repeat(200), workerData + '/' + last)
    if (last > 4) unlinkSync(workerData + '/' + (last - 4))
  }
`

const enoughChanges = 300
const longestMs = 3000

/** Does a listing of a small directory show what is there by now? A lease rests on that. */
export async function tryListing(directory: string): Promise<ListingTrial> {
  const { Worker } = await import('node:worker_threads')
  const path = join(directory, 'listing')
  mkdirSync(path, 0o700)
  const worker = new Worker(rival, { eval: true, workerData: path, stderr: true })
  const ended = new Promise<void>((resolve, reject) =>
    worker.once('error', reject).once('exit', () => resolve()),
  )
  ended.catch(() => {})
  try {
    return await Promise.race([follow(path), ended.then(() => follow(path, 0))])
  } finally {
    await worker.terminate()
  }
}

async function follow(path: string, withinMs: number = longestMs): Promise<ListingTrial> {
  const trial: ListingTrial = { listings: 0, changes: 0, old: 0 }
  const end = systemClock.mono() + withinMs
  let highest = 0
  while (trial.changes < enoughChanges && systemClock.mono() < end) {
    // A few at a time, so that a signal and the rival's own failure are heard.
    for (let count = 0; count < 50; count++) judge(readdirSync(path).map(Number))
    await new Promise((resolve) => setImmediate(resolve))
  }
  return trial

  function judge(numbers: readonly number[]): void {
    trial.listings += 1
    const high = Math.max(0, ...numbers)
    if (high < highest) trial.old += 1
    if (high > highest) trial.changes += 1
    highest = Math.max(highest, high)
  }
}
