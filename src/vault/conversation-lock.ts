import { StintError } from '../base/errors/stint-error.ts'
import { after, systemClock } from '../base/process/clock.ts'
import { type Identity, liveness, ownIdentity } from '../base/process/liveness.ts'
import { isNumber, parseObject } from '../base/text/fields.ts'
import { fileRegister } from '../lease/index.ts'

const pollMs = 20
/** How long a copier waits for another one; the largest conversation is copied within this time. */
const maxWaitMs = 60_000
/** A holder of another machine or namespace cannot be examined: its lock counts for this long. */
const unknownHolderMs = 3_600_000
/** The register of the lock, in the directory that it locks. */
export const lockName = 'lock'

/** Runs `work` while no other process works in this directory. The register there names its holder. */
export async function withLock<Result>(directory: string, work: () => Promise<Result>): Promise<Result> {
  const register = fileRegister(directory)
  const deadline = systemClock.mono() + maxWaitMs
  for (;;) {
    const { epoch, text } = await register.read(lockName)
    const holder = JSON.stringify({ ...ownIdentity(), at: Date.now() })
    if (isFree(text ?? '') && (await register.swap(lockName, epoch, holder)))
      try {
        return await work()
      } finally {
        await register.swap(lockName, epoch + 1, '')
      }
    if (systemClock.mono() > deadline)
      throw new StintError('LOCK_HELD', `another process works on ${directory}`, {
        hint: 'Try again when that process, a sync of the vault, has ended.',
      })
    await after(pollMs)
  }
}

/** A lock is free if it was released, or if its holder has died. */
function isFree(text: string): boolean {
  const holder = parseObject(text)
  if (holder === undefined) return true
  const life = liveness(holder as unknown as Identity)
  if (life !== 'unknown') return life === 'dead'
  return !isNumber(holder.at) || Math.abs(Date.now() - holder.at) > unknownHolderMs
}
