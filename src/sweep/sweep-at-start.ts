import { join } from 'node:path'
import { takeTurn } from '../primitives/turn.ts'
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
    if (takeTurn(join(root.trash, sweptStamp), atMostEveryMs, now)) sweepSync({ root, budgetMs })
  } catch {
    // A full disk or a lost permission will be told by what the run itself does.
  }
}
