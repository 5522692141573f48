import { closeSync, futimesSync, lstatSync, openSync } from 'node:fs'
import { join } from 'node:path'
import type { ScratchRoot } from '../scratch/root.ts'
import { sweptStamp } from './places.ts'
import { sweepSync } from './sweep.ts'

const atMostEveryMs = 60_000
const budgetMs = 25

/**
 * The sweep every invocation makes: at most once a minute for all of them together, and short. Never fails the
 * run: what it could not do, the next one or `stint sweep` will.
 */
export function sweepAtStart(root: ScratchRoot, now: number = Date.now()): void {
  try {
    const stamp = join(root.trash, sweptStamp)
    const age = now - (lstatSync(stamp, { throwIfNoEntry: false })?.mtimeMs ?? 0)
    // A stamp from the future (a clock that was set back) must not stop the sweeping for good.
    if (age >= 0 && age < atMostEveryMs) return
    const fd = openSync(stamp, 'a', 0o600)
    futimesSync(fd, now / 1000, now / 1000)
    closeSync(fd)
    sweepSync({ root, budgetMs })
  } catch {
    // A full disk or a lost permission will be told by what the run itself does.
  }
}
