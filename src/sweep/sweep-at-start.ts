import { closeSync, futimesSync, lstatSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { openPrivateFile } from '../base/fs/private-file.ts'
import { ownedRun } from '../scratch/owner.ts'
import type { Scratch } from '../scratch/scratch.ts'

const atMostEveryMs = 60_000
const budgetMs = 25

/** A file in `trash/`; its modification time is that of the last sweep at a start. */
export const sweptStamp = '.swept'

/**
 * Sweeps for 25 ms, or until one scratch is removed, at most once a minute over all processes of the user.
 * Never fails the run: a later run or `stint sweep` does the rest.
 */
export async function sweepAtStart(scratch: OwnScratch, now: number = Date.now()): Promise<void> {
  const { root } = scratch
  try {
    if (!takeTurnIfDue(join(root.trash, sweptStamp), atMostEveryMs, now) || isAlone(scratch)) return
    // Loaded only here: most runs have nothing to sweep, and start faster without it.
    const { sweep } = await import('./sweep.ts')
    await sweep({ root, budgetMs })
  } catch {
    // The run itself reports a full disk or a lost permission.
  }
}

type OwnScratch = Pick<Scratch, 'root' | 'requestId'>

/** Whether the root contains nothing but this run's scratch, so that there is nothing to sweep. */
function isAlone({ root, requestId }: OwnScratch): boolean {
  const others = [
    ...readdirSync(root.path).filter((name) => name !== 'run' && name !== 'trash'),
    ...readdirSync(root.runs).filter((name) => name !== requestId && ownedRun(name) !== requestId),
    ...readdirSync(root.trash).filter((name) => name !== sweptStamp),
  ]
  return others.length === 0
}

/**
 * Limits work to once every `everyMs` across all processes: true if it is due, and then the turn is taken.
 * The modification time of the empty file `stamp` records the last turn.
 */
export function takeTurnIfDue(stamp: string, everyMs: number, now: number): boolean {
  const age = now - (lstatSync(stamp, { throwIfNoEntry: false })?.mtimeMs ?? 0)
  // The clock may have been set back: a stamp from the future must not stop the work for good.
  if (age >= 0 && age < everyMs) return false
  const fd = openPrivateFile(stamp, 'a')
  try {
    futimesSync(fd, now / 1000, now / 1000)
  } finally {
    closeSync(fd)
  }
  return true
}
