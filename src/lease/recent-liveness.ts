import { systemClock } from '../base/process/clock.ts'
import { type Identity, type Liveness, liveness } from '../base/process/liveness.ts'
import { thisMachine } from '../base/process/platform.ts'

/** For so long a process that was seen alive counts as alive. */
const justNowMs = 2

/** Who was alive when. A page that has not changed has the same objects in it. */
const seenAlive = new WeakMap<Identity, number>()

/** A judgement asks several times after the same process, and so does who tries again and again. */
export function recentLiveness(process: Identity): Liveness {
  const now = systemClock.mono()
  if (now - (seenAlive.get(process) ?? Number.NEGATIVE_INFINITY) < justNowMs) return 'alive'
  const answer = liveness(process)
  if (answer === 'alive') seenAlive.set(process, now)
  return answer
}

/**
 * Where other machines write, too: only of this very boot can a death be known. A machine-id proves little, machines that were made from one
 * image have the same.
 */
export function nearbyLiveness(process: Identity): Liveness {
  const { boot } = thisMachine()
  return boot !== '' && process.boot === boot ? recentLiveness(process) : 'unknown'
}
