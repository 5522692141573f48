import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { takeTurnIfDue } from '../base/fs/at-most-every.ts'
import type { Scratch } from '../scratch/scratch.ts'
import { sweptStamp } from './places.ts'

const atMostEveryMs = 60_000
const budgetMs = 25

/**
 * The sweep every invocation makes: at most once a minute for all of them together, and short. Never fails the
 * run: what it could not do, the next one or `stint sweep` will.
 */
export async function sweepAtStart(scratch: OwnScratch, now: number = Date.now()): Promise<void> {
  const { root } = scratch
  try {
    if (!takeTurnIfDue(join(root.trash, sweptStamp), atMostEveryMs, now) || isAlone(scratch)) return
    // Loaded only now: most runs start sooner without it.
    const { sweepSync } = await import('./sweep.ts')
    sweepSync({ root, budgetMs })
  } catch {
    // A full disk or a lost permission will be told by what the run itself does.
  }
}

type OwnScratch = Pick<Scratch, 'root' | 'requestId'>

/** Where nothing is but this run, there is nothing to sweep. */
function isAlone({ root, requestId }: OwnScratch): boolean {
  const others = [
    ...readdirSync(root.path).filter((name) => name !== 'trash'),
    ...readdirSync(root.trash).filter((name) => name !== sweptStamp),
  ]
  return others.every((name) => name === requestId)
}
