import type { Disk } from '../../src/base/fs/disk.ts'
import type { OffLoop } from '../../src/base/fs/disk-queue.ts'
import { makeCall } from '../../src/base/fs/disk-steps.ts'

/**
 * Makes every slow call of a disk off the event loop, as the thread pool does on a slow disk: the call takes
 * effect in a later turn, and its result arrives in one after that.
 */
export const laterTurns = (disk: Disk): OffLoop => ({
  isNeeded: true,
  note: () => {},
  call(step, done) {
    setImmediate(() => {
      try {
        const result = makeCall(disk, step)
        setImmediate(() => done(undefined, result))
      } catch (error) {
        setImmediate(() => done(error))
      }
    })
  },
})

/** Where commits run: the tests of durability and fencing prove both. */
export const commitWays = ['on the event loop', 'in the thread pool'] as const
export type CommitWay = (typeof commitWays)[number]

/** Returns the stand-in for the thread pool; undefined if commits stay on the event loop. */
export const offLoopOf = (way: CommitWay, disk: Disk): OffLoop | undefined =>
  way === 'in the thread pool' ? laterTurns(disk) : undefined
